import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { baseOf, type Setting, settings } from './settings.ts';

// What telemetry costs: CPU nanoseconds a record, and records a second, for each setting. In each round all settings take turns, from another one on,
// and each is compared with the same application without hooks in the same round, since a busy machine slows a round as a whole. The report shows medians over the rounds,
// between which values half of the rounds lie, and the rounds that took least.
//
//   node --conditions=@sendonce/source bench/otel/main.ts [--rounds 5] [--records 1000000] [--callers 2000] [--kafka] [--only roots-1%,…]

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    records: { type: 'string', default: '1000000' },
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
const withoutHookCalls = new URL('without-hook-calls.ts', import.meta.url).href;

async function measure(setting: Setting, brokers: string | null): Promise<Figures> {
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--conditions=@sendonce/source',
    ...(setting === 'stripped' ? [`--import=${withoutHookCalls}`] : []),
    worker,
    `--setting=${setting}`,
    `--callers=${values.callers}`,
    `--records=${values.records}`,
    ...(brokers === null ? [] : [`--brokers=${brokers}`]),
  ]);
  const figures = JSON.parse(stdout) as Figures;
  if (figures.hookFailures > 0) throw new Error(`${setting}: ${figures.hookFailures} hook failures`);
  return figures;
}

async function kafka() {
  const { startKafka } = await import('@sendonce/test-services');
  const cluster = await startKafka({ brokers: 1 });
  await cluster.createTopic({ topic: 'bench', partitions: 1, replicationFactor: 1 });
  return cluster;
}

function quantile(numbers: readonly number[], share: number): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  const at = (sorted.length - 1) * share;
  const below = sorted[Math.floor(at)]!;
  return below + (sorted[Math.ceil(at)]! - below) * (at - Math.floor(at));
}

const percent = (ratio: number): string => `${ratio >= 1 ? '+' : '−'}${Math.abs((ratio - 1) * 100).toFixed(1)} %`;
const spread = (ratios: readonly number[]): string =>
  `${percent(quantile(ratios, 0.5))} (${percent(quantile(ratios, 0.25))} to ${percent(quantile(ratios, 0.75))})`;

/** Other work on the machine only ever adds. */
const least = (figures: readonly Figures[]): number => Math.min(...figures.map(({ cpuNsPerRecord }) => cpuNsPerRecord));

const cluster = values.kafka ? await kafka() : null;
const chosen = [...new Set((values.only.split(',') as Setting[]).flatMap((setting) => [baseOf(setting), setting]))];
const rounds: Map<Setting, Figures>[] = [];
for (let round = 0; round < Number(values.rounds); round++) {
  const figures = new Map<Setting, Figures>();
  for (let turn = 0; turn < chosen.length; turn++) {
    const setting = chosen[(round + turn) % chosen.length]!;
    figures.set(setting, await measure(setting, cluster?.bootstrap.join(',') ?? null));
  }
  rounds.push(figures);
}
await cluster?.stop();

console.log(
  `${values.callers} callers, one record each, 100 bytes, ${cluster === null ? 'no broker' : 'Kafka on this machine'}, ${rounds.length} rounds`,
);
console.table(
  Object.fromEntries(
    chosen.map((setting) => {
      const all = rounds.map((round) => round.get(setting)!);
      const base = rounds.map((round) => round.get(baseOf(setting))!);
      const median = (of: (figures: Figures) => number): number => Math.round(quantile(all.map(of), 0.5));
      return [
        settings[setting],
        {
          'CPU ns a record': median(({ cpuNsPerRecord }) => cpuNsPerRecord),
          'records/s': median(({ recordsPerSecond }) => recordsPerSecond),
          'least CPU, against no hooks': percent(least(all) / least(base)),
          'CPU, against no hooks': spread(
            all.map(({ cpuNsPerRecord }, round) => cpuNsPerRecord / base[round]!.cpuNsPerRecord),
          ),
          'records/s, against no hooks': spread(
            all.map(({ recordsPerSecond }, round) => recordsPerSecond / base[round]!.recordsPerSecond),
          ),
        },
      ];
    }),
  ),
);
