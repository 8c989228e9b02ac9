/**
 * Answers as a broker would, and throws the records away, so that nothing but the client limits: `discard-broker.ts`. Prints its
 * `HOST:PORT`. One topic of any name, one partition. Speaks old versions only (Produce 7, Metadata 4, InitProducerId 1).
 */
import { type AddressInfo, createServer, type Socket } from 'node:net';

const apiKeys = { produce: 0, metadata: 3, apiVersions: 18, initProducerId: 22 } as const;
const supported: readonly (readonly [apiKey: number, min: number, max: number])[] = [
  [apiKeys.produce, 3, 7],
  [apiKeys.metadata, 4, 4],
  [apiKeys.apiVersions, 0, 3],
  [apiKeys.initProducerId, 0, 1],
];
/** Enough for everything before the records. */
const headBytes = 1_024;
const lastOffsetDeltaAt = 23;

const int8 = (value: number) => Buffer.from([value & 0xff]);
const int16 = (value: number) => {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
};
const int32 = (value: number) => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
};
const int64 = (value: number) => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(BigInt(value));
  return bytes;
};
const text = (value: Buffer) => Buffer.concat([int16(value.length), value]);

function answerApiVersions(version: number): Buffer {
  const isFlexible = version >= 3;
  const entries = supported.map(([apiKey, min, max]) =>
    Buffer.concat([int16(apiKey), int16(min), int16(max), ...(isFlexible ? [int8(0)] : [])]),
  );
  if (!isFlexible) return Buffer.concat([int16(0), int32(entries.length), ...entries]);
  return Buffer.concat([int16(0), int8(entries.length + 1), ...entries, int32(0), int8(0)]);
}

function answerMetadata(body: Buffer, port: number): Buffer {
  const nameBytes = body.readInt32BE(0) > 0 ? body.readInt16BE(4) : 0;
  const name = body.subarray(6, 6 + nameBytes);
  const broker = [int32(1), text(Buffer.from('127.0.0.1')), int32(port), int16(-1)];
  const partition = [int16(0), int32(0), int32(1), int32(1), int32(1), int32(1), int32(1)];
  const topic = nameBytes === 0 ? [] : [int16(0), text(name), int8(0), int32(1), ...partition];
  return Buffer.concat([int32(0), int32(1), ...broker, int16(-1), int32(1), int32(nameBytes === 0 ? 0 : 1), ...topic]);
}

let nextOffset = 0;

/** Transactional id, acks, timeout, one topic with one partition; then the records. */
function answerProduce(body: Buffer): Buffer {
  const topicAt = 2 + 2 + 4 + 4;
  const topicEnd = topicAt + 2 + body.readInt16BE(topicAt);
  const name = body.subarray(topicAt + 2, topicEnd);
  const batchAt = topicEnd + 4 + 4 + 4;
  const baseOffset = nextOffset;
  nextOffset += 1 + body.readInt32BE(batchAt + lastOffsetDeltaAt);
  const partition = [int32(0), int16(0), int64(baseOffset), int64(-1), int64(0)];
  return Buffer.concat([int32(1), text(name), int32(1), ...partition, int32(0)]);
}

function answer(frame: Buffer, port: number): Buffer {
  const [apiKey, version] = [frame.readInt16BE(4), frame.readInt16BE(6)];
  const body = frame.subarray(14 + Math.max(0, frame.readInt16BE(12)));
  if (apiKey === apiKeys.apiVersions) return answerApiVersions(version);
  if (apiKey === apiKeys.metadata) return answerMetadata(body, port);
  if (apiKey === apiKeys.initProducerId) return Buffer.concat([int32(0), int16(0), int64(1), int16(0)]);
  return answerProduce(body);
}

/** Keeps the head of each frame and counts the rest. */
function serve(socket: Socket, port: number): void {
  socket.setNoDelay(true);
  socket.on('error', () => {});
  let head = Buffer.alloc(0);
  let left = -1;
  socket.on('data', (chunk) => {
    for (let at = 0; at < chunk.length; ) {
      if (left < 0) {
        const taken = Math.min(4 - head.length, chunk.length - at);
        head = Buffer.concat([head, chunk.subarray(at, at + taken)]);
        at += taken;
        if (head.length === 4) left = head.readInt32BE(0);
        continue;
      }
      const taken = Math.min(left, chunk.length - at);
      if (head.length < headBytes) head = Buffer.concat([head, chunk.subarray(at, at + Math.min(taken, headBytes))]);
      at += taken;
      left -= taken;
      if (left > 0) continue;
      const body = answer(head, port);
      socket.write(Buffer.concat([int32(4 + body.length), head.subarray(8, 12), body]));
      head = Buffer.alloc(0);
      left = -1;
    }
  });
}

const server = createServer((socket) => serve(socket, (server.address() as AddressInfo).port));
server.listen(0, '127.0.0.1', () => console.log(`127.0.0.1:${(server.address() as AddressInfo).port}`));
