#!/usr/bin/env node
// How fast can Node produce to a real broker when nothing is in the way? One socket, one partition, own record batches,
// native CRC32C, at most five requests in flight, rule C18 instead of a fixed linger. No retries, no errors, no features:
// it is the limit to compare with, in the same run and on the same broker, not an example of how to write a producer.
//
//   node bench/kafka/probe.mjs HOST:PORT TOPIC send|enqueue [CALLERS=2000] [SECONDS=6] [VALUE_BYTES=100] [CA_FILE]
//
// The broker must lead partition 0 of TOPIC. With CA_FILE it speaks TLS. Prints JSON.
import { readFileSync } from 'node:fs';
import net from 'node:net';
import tls from 'node:tls';
import { crc32c } from '@node-rs/crc32';

const [, , address, topicName, mode, callersArg = '2000', secondsArg = '6', valueBytes = '100', caFile] = process.argv;
if (!address || !topicName || !['send', 'enqueue'].includes(mode)) {
  console.error('usage: probe.mjs HOST:PORT TOPIC send|enqueue [CALLERS] [SECONDS] [VALUE_BYTES] [CA_FILE]');
  process.exit(2);
}
const [host, port] = address.split(':');
const socket = caFile ? tls.connect({ port: +port, host, ca: readFileSync(caFile) }) : net.connect(+port, host);
socket.setNoDelay(true);
await new Promise((resolve, reject) =>
  socket.once(caFile ? 'secureConnect' : 'connect', resolve).once('error', reject),
);

// ---- framing: requests go out in order, replies come back in order
let correlationId = 0;
const waiting = [];
let rest = Buffer.alloc(0);
socket.on('data', (chunk) => {
  rest = rest.length ? Buffer.concat([rest, chunk]) : chunk;
  let at = 0;
  while (rest.length - at >= 4) {
    const size = rest.readInt32BE(at);
    if (rest.length - at - 4 < size) break;
    const body = rest.subarray(at + 8, at + 4 + size); // past the correlation id
    at += 4 + size;
    waiting.shift()(body);
  }
  rest = rest.subarray(at);
});
function request(apiKey, apiVersion, buffers, onReply) {
  const header = Buffer.alloc(15);
  let size = 11;
  for (const b of buffers) size += b.length;
  header.writeInt32BE(size, 0);
  header.writeInt16BE(apiKey, 4);
  header.writeInt16BE(apiVersion, 6);
  header.writeInt32BE(++correlationId, 8);
  header.writeInt16BE(1, 12);
  header[14] = 0x70;
  waiting.push(onReply);
  socket.cork();
  socket.write(header);
  for (const b of buffers) socket.write(b);
  process.nextTick(() => socket.uncork());
}

const init = Buffer.alloc(6);
init.writeInt16BE(-1, 0);
init.writeInt32BE(60_000, 2);
const askProducerId = () =>
  new Promise((resolve) =>
    request(22, 1, [init], (b) =>
      resolve({ error: b.readInt16BE(4), producerId: b.readBigInt64BE(6), epoch: b.readInt16BE(14) }),
    ),
  );
let identity = await askProducerId();
for (let tries = 0; identity.error === 14 && tries < 50; tries++) {
  // the broker is fetching a block of ids
  await new Promise((resolve) => setTimeout(resolve, 100));
  identity = await askProducerId();
}
if (identity.error) throw new Error(`InitProducerId answered ${identity.error}`);
const { producerId, epoch } = identity;

// ---- batches
const BATCH_BYTES = 262_144;
const spare = [];
const ready = [];
let open = null;
let sequence = 0;
let inFlight = 0;
let acknowledged = 0;

const varintLength = (n) => (n < 64 ? 1 : n < 8192 ? 2 : 3);
function varint(buffer, at, value) {
  let z = ((value << 1) ^ (value >> 31)) >>> 0;
  while (z > 127) {
    buffer[at++] = (z & 127) | 128;
    z >>>= 7;
  }
  buffer[at++] = z;
  return at;
}
function append(value, onAcknowledged) {
  if (!open || open.size + value.length + 20 > BATCH_BYTES) {
    if (open) ready.push(open);
    open = {
      buffer: spare.pop() ?? Buffer.allocUnsafe(BATCH_BYTES),
      size: 61,
      count: 0,
      callbacks: [],
      time: BigInt(Date.now()),
    };
  }
  const { buffer, count } = open;
  const length = value.length;
  let at = varint(buffer, open.size, 4 + varintLength(count) + varintLength(length) + length);
  buffer[at++] = 0; // attributes
  buffer[at++] = 0; // timestamp delta
  at = varint(buffer, at, count);
  buffer[at++] = 1; // null key
  at = varint(buffer, at, length);
  at += buffer.latin1Write(value, at, length);
  buffer[at++] = 0; // no headers
  open.size = at;
  open.count = count + 1;
  if (onAcknowledged) open.callbacks.push(onAcknowledged);
}

const topic = Buffer.from(topicName);
const replyErrorAt = 4 + 2 + topic.length + 4 + 4;
function drain() {
  while (inFlight < 5) {
    let batch = ready.shift();
    if (!batch) {
      if (!open?.count) return;
      batch = open;
      open = null;
    }
    const b = batch.buffer;
    b.writeBigInt64BE(0n, 0);
    b.writeInt32BE(batch.size - 12, 8);
    b.writeInt32BE(-1, 12);
    b[16] = 2;
    b.writeInt16BE(0, 21);
    b.writeInt32BE(batch.count - 1, 23);
    b.writeBigInt64BE(batch.time, 27);
    b.writeBigInt64BE(batch.time, 35);
    b.writeBigInt64BE(producerId, 43);
    b.writeInt16BE(epoch, 51);
    b.writeInt32BE(sequence, 53);
    b.writeInt32BE(batch.count, 57);
    b.writeUInt32BE(crc32c(b.subarray(21, batch.size)) >>> 0, 17);
    sequence += batch.count;

    const head = Buffer.alloc(26 + topic.length);
    let at = head.writeInt16BE(-1, 0); // no transactional id
    at = head.writeInt16BE(-1, at); // acks all
    at = head.writeInt32BE(30_000, at);
    at = head.writeInt32BE(1, at);
    at = head.writeInt16BE(topic.length, at);
    at += topic.copy(head, at);
    at = head.writeInt32BE(1, at);
    at = head.writeInt32BE(0, at); // partition 0
    head.writeInt32BE(batch.size, at);
    inFlight++;
    request(0, 7, [head, b.subarray(0, batch.size)], (reply) => {
      const error = reply.readInt16BE(replyErrorAt);
      if (error) {
        console.error(`produce answered error ${error}`);
        process.exit(1);
      }
      inFlight--;
      acknowledged += batch.count;
      spare.push(b);
      for (const f of batch.callbacks) f();
      drain();
    });
  }
}
let scheduled = false;
function drainAtEndOfTurn() {
  if (scheduled || inFlight > 0) return; // a reply will drain
  scheduled = true;
  setImmediate(() => {
    scheduled = false;
    drain();
  });
}

// ---- the load
const value = 'x'.repeat(+valueBytes);
const turn = () => new Promise((resolve) => setImmediate(resolve));
const latenciesMs = [];
const watchesLatency = mode === 'send' && +callersArg === 1;
const send = () =>
  new Promise((resolve) => {
    append(value, resolve);
    if (ready.length) drain();
    else drainAtEndOfTurn();
  });
async function load(end) {
  if (mode === 'send') {
    await Promise.all(
      Array.from({ length: +callersArg }, async () => {
        let now = performance.now();
        while (now < end) {
          await send();
          const before = now;
          now = performance.now();
          if (watchesLatency) latenciesMs.push(now - before);
        }
      }),
    );
    return;
  }
  while (performance.now() < end) {
    for (let i = 0; i < 5000; i++) append(value);
    drain();
    do await turn();
    while (ready.length > 20);
  }
  while (inFlight || ready.length || open?.count) {
    drain();
    await turn();
  }
}
async function measure(seconds) {
  acknowledged = 0;
  latenciesMs.length = 0;
  const cpuBefore = process.cpuUsage();
  const started = performance.now();
  await load(started + seconds * 1000);
  const elapsedMs = performance.now() - started;
  const { user, system } = process.cpuUsage(cpuBefore);
  latenciesMs.sort((a, b) => a - b);
  return {
    recordsPerSecond: Math.round(acknowledged / (elapsedMs / 1000)),
    refused: 0,
    cpuNsPerRecord: Math.round(((user + system) * 1000) / acknowledged),
    rssMiB: Math.round(process.resourceUsage().maxRSS / 1024),
    ...(watchesLatency ? { latencyUs: Math.round(latenciesMs[latenciesMs.length >> 1] * 1000) } : {}),
  };
}
await load(performance.now() + 2000); // to warm up
let best;
for (let passed = 0; passed < +secondsArg; passed++) {
  const figures = await measure(1);
  if (figures.recordsPerSecond >= (best?.recordsPerSecond ?? 0)) best = figures;
}
console.log(JSON.stringify(best));
process.exit(0);
