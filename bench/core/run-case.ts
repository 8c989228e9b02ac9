/** One workload against the memory broker, in this process; prints one line of JSON. Started by main.ts. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { createProducer, type Producer } from '@sendonce/producer-core';
import { createMemoryCluster } from '@sendonce/transport-memory';
import { answeringTransport } from './answering-transport.ts';
import { type BenchCase, benchCases, type Figures } from './cases.ts';

const topic = 'bench';
/** Until the buffers that the case fills were all filled once: memory that is touched for the first time costs page faults. */
const warmUpMs = 3_000;
const measuredMs = 2_000;

async function start({ broker, partitions, options }: BenchCase): Promise<Producer> {
  if (broker === 'none') return await createProducer({ transport: answeringTransport(partitions), ...options });
  const cluster = createMemoryCluster({
    brokers: 1,
    profile: 'kafka-4',
    // The log is cut as it grows, so that what is held is the producer's and not the history's.
    topics: {
      [topic]: {
        partitions,
        segmentBytes: Math.ceil(16_777_216 / partitions),
        retentionBytes: Math.ceil(33_554_432 / partitions),
      },
    },
  });
  return await createProducer({ transport: cluster.transport(), ...options });
}

/** Runs `work` for a while without and then with measurement. `work` returns when the time it is given has passed. */
async function measure(work: (untilMs: number, latencies: number[] | null) => Promise<number>): Promise<Figures> {
  await work(performance.now() + warmUpMs, null);
  const latencies: number[] = [];
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const cpuBefore = process.cpuUsage();
  const startedAtMs = performance.now();
  const records = await work(startedAtMs + measuredMs, latencies);
  const elapsedMs = performance.now() - startedAtMs;
  const cpu = process.cpuUsage(cpuBefore);
  delay.disable();
  const memory = process.memoryUsage();
  latencies.sort((a, b) => a - b);
  const percentile = (share: number): number | null =>
    latencies.length === 0 ? null : latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))]!;
  return {
    recordsPerSecond: (records / elapsedMs) * 1_000,
    cpuNsPerRecord: ((cpu.user + cpu.system) * 1_000) / records,
    p50Ms: percentile(0.5),
    p99Ms: percentile(0.99),
    heapMiB: memory.heapUsed / 1_048_576,
    buffersMiB: memory.arrayBuffers / 1_048_576,
  };
}

/** Every so many sends one is timed: reading the clock twice a record would be a part of what is measured. */
const timedEvery = 64;

async function runSend(producer: Producer, { callers, value }: BenchCase): Promise<Figures> {
  return await measure(async (untilMs, latencies) => {
    let records = 0;
    await Promise.all(
      Array.from({ length: callers }, async () => {
        while (performance.now() < untilMs) {
          for (let count = 0; count < 8; count++) {
            const isTimed = latencies !== null && records % timedEvery === 0;
            const sentAtMs = isTimed ? performance.now() : 0;
            await producer.send({ topic, value });
            if (isTimed) latencies.push(performance.now() - sentAtMs);
            records++;
          }
        }
      }),
    );
    return records;
  });
}

async function runEnqueue(
  producer: Producer,
  { value, partitions, recordsPerTurn, runLength }: BenchCase,
): Promise<Figures> {
  return await measure(async (untilMs, latencies) => {
    let records = 0;
    let partition = 0;
    while (performance.now() < untilMs) {
      for (let count = 0; count < recordsPerTurn; count++) {
        const isTimed = latencies !== null && records % (timedEvery * 64) === 0;
        const onSettled = isTimed ? timer(latencies) : undefined;
        if (!producer.enqueue({ topic, value, partition }, onSettled)) await producer.ready();
        records++;
        if (records % runLength === 0 && ++partition === partitions) partition = 0;
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
    await producer.flush();
    return records;
  });
}

function timer(latencies: number[]): () => void {
  const sentAtMs = performance.now();
  return () => latencies.push(performance.now() - sentAtMs);
}

async function runSendBatch(producer: Producer, { value }: BenchCase): Promise<Figures> {
  const records = Array.from({ length: 1_000 }, () => ({ topic, value }));
  return await measure(async (untilMs, latencies) => {
    let sent = 0;
    while (performance.now() < untilMs) {
      const sentAtMs = performance.now();
      await producer.sendBatch(records);
      latencies?.push(performance.now() - sentAtMs);
      sent += records.length;
    }
    return sent;
  });
}

const name = process.argv[2];
const benchCase = benchCases.find((each) => each.name === name);
if (benchCase === undefined) {
  console.error(`There is no case ${String(name)}. Cases: ${benchCases.map((each) => each.name).join(', ')}`);
  process.exit(2);
}
const producer = await start(benchCase);
await producer.partitionFor({ topic, value: null });
const runs = { send: runSend, enqueue: runEnqueue, sendBatch: runSendBatch };
const figures = await runs[benchCase.call](producer, benchCase);
console.log(JSON.stringify(figures));
await producer.close();
