import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { type Setting, settings } from './settings.ts';

// What telemetry costs: CPU nanoseconds a record, and records a second, for each setting; the best of several rounds, in which the settings take
// turns, since a busy machine only ever makes things slower.
//
//   node --conditions=@sendonce/source bench/otel/main.ts [--rounds 5] [--seconds 2] [--callers 2000] [--kafka] [--only roots-1%,…]

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '2' },
    callers: { type: 'string', default: '2000' },
    kafka: { type: 'boolean', default: false },
    only: { type: 'string', default: Object.keys(settings).join() },
  },
});

interface Figures {
  readonly recordsPerSecond: number;
  readonly cpuNsPerRecord: number;
  readonly hookFailures: number;
}

const worker = fileURLToPath(new URL('worker.ts', import.meta.url));

async function measure(setting: Setting, brokers: string | null): Promise<Figures> {
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--conditions=@sendonce/source',
    worker,
    `--setting=${setting}`,
    `--callers=${values.callers}`,
    `--seconds=${values.seconds}`,
    ...(brokers === null ? [] : [`--brokers=${brokers}`]),
  ]);
  return JSON.parse(stdout) as Figures;
}

async function kafka() {
  const { startKafka } = await import('@sendonce/test-services');
  const cluster = await startKafka({ brokers: 1 });
  await cluster.createTopic({ topic: 'bench', partitions: 1, replicationFactor: 1 });
  return cluster;
}

const cluster = values.kafka ? await kafka() : null;
const best = new Map<Setting, Figures>();
for (let round = 0; round < Number(values.rounds); round++) {
  for (const setting of new Set<Setting>(['none', ...(values.only.split(',') as Setting[])])) {
    const figures = await measure(setting, cluster?.bootstrap.join(',') ?? null);
    if (figures.hookFailures > 0) throw new Error(`${setting}: ${figures.hookFailures} hook failures`);
    const before = best.get(setting);
    best.set(setting, {
      hookFailures: 0,
      recordsPerSecond: Math.max(figures.recordsPerSecond, before?.recordsPerSecond ?? 0),
      cpuNsPerRecord: Math.min(figures.cpuNsPerRecord, before?.cpuNsPerRecord ?? Number.POSITIVE_INFINITY),
    });
  }
}
await cluster?.stop();

const base = best.get('none')!;
console.log(
  `${values.callers} callers, one record each, 100 bytes, ${cluster === null ? 'no broker' : 'Kafka on this machine'}`,
);
for (const [setting, { recordsPerSecond, cpuNsPerRecord }] of best) {
  const share = ((recordsPerSecond / base.recordsPerSecond) * 100).toFixed(1);
  const added = Math.round(cpuNsPerRecord - base.cpuNsPerRecord);
  console.log(
    `${settings[setting].padEnd(52)} ${Math.round(recordsPerSecond).toLocaleString('en').padStart(11)} records/s (${share} %) ` +
      `${Math.round(cpuNsPerRecord).toString().padStart(6)} ns CPU a record (${added >= 0 ? '+' : ''}${added})`,
  );
}
