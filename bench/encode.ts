import { RecordBatchWriter, stampBatch } from '@sendonce/producer-core/record-batch';

// The cost of encoding alone: records into batches, each batch finished and sealed with its CRC. Distinct values, so that no
// cache of one string flatters the figure.
//
//   node --conditions=@sendonce/source bench/encode.ts [SECONDS=2]

const secondsPerCase = Number(process.argv[2] ?? 2);
const batchBytes = 262_144;
const distinct = 1024;
/** Asking for the CPU time costs microseconds. */
const clockEveryBatches = 64;

type Content = Uint8Array | string | null;

function text(bytes: number, index: number): string {
  // From bytes, so that it is a flat one-byte string, as one from JSON.stringify or a socket is.
  return Buffer.from(`${index}-`.concat('payment accepted; '.repeat(bytes)).slice(0, bytes)).toString('latin1');
}

interface Case {
  readonly name: string;
  readonly keys: readonly Content[];
  readonly values: readonly Content[];
  readonly headers?: readonly (readonly [string, string])[];
}

const indexes = Array.from({ length: distinct }, (_, index) => index);
const noKeys = indexes.map(() => null);
const keys = indexes.map((index) => `account-${index}`);

const cases: readonly Case[] = [
  { name: '100-byte string', keys: noKeys, values: indexes.map((index) => text(100, index)) },
  { name: '100-byte Buffer', keys: noKeys, values: indexes.map((index) => Buffer.from(text(100, index))) },
  { name: '100-byte string, string key', keys, values: indexes.map((index) => text(100, index)) },
  { name: '100 characters, one not ASCII', keys: noKeys, values: indexes.map((index) => `${text(99, index)}é`) },
  { name: '1 KiB string', keys: noKeys, values: indexes.map((index) => text(1024, index)) },
  { name: '1 KiB Buffer', keys: noKeys, values: indexes.map((index) => Buffer.from(text(1024, index))) },
  {
    name: '100-byte string, two headers',
    keys: noKeys,
    values: indexes.map((index) => text(100, index)),
    headers: [
      ['traceparent', '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'],
      ['idempotency-key', 'c0ffee00-1234-5678-9abc-def012345678'],
    ],
  },
];

const numbers = { producerId: 5001n, epoch: 0, baseSequence: 0 };
const buffer = Buffer.allocUnsafeSlow(batchBytes);

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Nanoseconds of CPU a record: a busy machine changes them less than it does the time on the clock. */
function measure({ keys, values, headers }: Case, forMs: number): number {
  const startedAtMs = cpuMs();
  const nowMs = Date.now();
  let records = 0;
  let batches = 0;
  let elapsedMs = 0;
  while (elapsedMs < forMs) {
    const writer = new RecordBatchWriter(buffer, nowMs);
    while (
      writer.tryAppend(keys[records % distinct]!, values[records % distinct]!, headers, nowMs, batchBytes) ===
      'appended'
    ) {
      records++;
    }
    stampBatch(writer.finish(), writer.size, numbers);
    if (++batches % clockEveryBatches === 0) elapsedMs = cpuMs() - startedAtMs;
  }
  return (elapsedMs * 1e6) / records;
}

console.log(`Node ${process.version}, batches of ${batchBytes} bytes, ${secondsPerCase} s of CPU a case, CRC included`);
for (const each of cases) {
  measure(each, 200);
  const nanoseconds = measure(each, secondsPerCase * 1000);
  const perSecond = Math.round(1e9 / nanoseconds).toLocaleString('en');
  console.log(
    `${each.name.padEnd(32)} ${perSecond.padStart(12)} records/CPU s ${nanoseconds.toFixed(1).padStart(8)} ns/record`,
  );
}
