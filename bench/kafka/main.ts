/**
 * Clients side by side on one real cluster, each in a process of its own:
 *
 *   npm run bench:kafka -- [--seconds 5] [--value-bytes 100] [--loads 2000,10,1,enqueue] [--only NAME,NAME]
 *                          [--rounds 3] [--tls] [--compression zstd|lz4] [--brokers 3] [--partitions 100] [--discard]
 *
 * The clients take turns, as many times as there are rounds, and the best second of each counts: what else the machine does then
 * disturbs all of them alike (kafkajs, platformatic and java: once; java's figure is its own, over its whole run). With three brokers
 * topics have three replicas. `--discard` takes a program in Kafka's place that answers and throws the records away, so that only the
 * client limits; sendonce and the probe alone. Says at the end which bars hold.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { bars, type Load, type Row } from './bars.ts';
import { cpuSeconds } from './broker-cpu.ts';
import { Runners } from './runners.ts';
import { subjects } from './subjects.ts';
import { startDiscardTarget, startKafkaTarget } from './target.ts';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '3' },
    'value-bytes': { type: 'string', default: '100' },
    loads: { type: 'string', default: '2000,10,1,enqueue' },
    only: { type: 'string' },
    tls: { type: 'boolean', default: false },
    compression: { type: 'string' },
    brokers: { type: 'string', default: '1' },
    partitions: { type: 'string', default: '1' },
    discard: { type: 'boolean', default: false },
  },
});
const { seconds, tls, compression } = values;
const rounds = Number(values.rounds);
const [valueBytes, partitions] = [Number(values['value-bytes']), Number(values.partitions)];
const brokers = values.brokers === '3' ? 3 : 1;
if (compression !== undefined && compression !== 'zstd' && compression !== 'lz4')
  throw new Error('--compression takes zstd or lz4.');
const wanted = values.only?.split(',');
const isWanted = (name: string) =>
  (wanted === undefined || wanted.includes(name)) && (!values.discard || name === 'probe' || name === 'sendonce');
const loads = values.loads.split(',') as Load[];

await using target = values.discard ? await startDiscardTarget() : await startKafkaTarget({ brokers, partitions, tls });
const { pids } = target;
const folder = mkdtempSync(join(tmpdir(), 'bench-kafka-'));
const caFile = join(folder, 'ca.pem');
if (target.ca !== undefined) writeFileSync(caFile, target.ca);
const runners = new Runners({
  target,
  folder,
  seconds,
  valueBytes,
  partitions,
  compression,
  caFile: target.ca === undefined ? undefined : caFile,
});

function onFreshTopic(topic: string, measure: (topic: string) => Promise<Row>): Promise<Row> {
  return target.withTopic(topic, async () => {
    const [cpuBefore, startedMs] = [cpuSeconds(pids), performance.now()];
    const row = await measure(topic);
    const brokerCores = (cpuSeconds(pids) - cpuBefore) / ((performance.now() - startedMs) / 1000);
    return { ...row, brokerCores };
  });
}

/** The probe is for one partition and knows no codec; only some clients compress with what is asked for. */
function entriesOf(load: Load): [name: string, measure: (topic: string) => Promise<Row>][] {
  const entries: [string, (topic: string) => Promise<Row>][] = [];
  if (partitions === 1 && compression === undefined) entries.push(['probe', (topic) => runners.probe(topic, load)]);
  for (const name of Object.keys(subjects)) {
    const canDo = name === 'sendonce' || (load !== 'enqueue' && compression === undefined);
    if (canDo) entries.push([name, (topic) => runners.subject(name, topic, load)]);
  }
  if (load === 'enqueue' && !tls) {
    if (runners.hasGo) entries.push(['franz-go', (topic) => runners.franzGo(topic)]);
    entries.push(['java', (topic) => runners.java(topic)]);
  }
  return entries.filter(([name]) => isWanted(name));
}

const count = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const shown = (figure: number | undefined) => (figure === undefined ? '' : count.format(figure));
const what = [
  `values of ${valueBytes} bytes`,
  target.name,
  `${partitions} partition${partitions > 1 ? 's' : ''}`,
  ...(tls ? ['TLS'] : []),
  ...(compression === undefined ? [] : [compression]),
];
console.log(
  `Node ${process.version}, ${what.join(', ')}, the best second of ${rounds} times ${seconds} s, acks all, idempotence on\n`,
);
console.log(
  '| load | client | records/s | of the probe | refused | median latency µs | client CPU ns/record | client RSS MiB | broker CPU cores |\n| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |',
);
/** So far behind that another round would change nothing. */
const measuredOnce = new Set(['kafkajs', 'platformatic', 'java']);
const rows = new Map<Load, Map<string, Row>>();

function print(load: Load, name: string, row: Row, limit: Row | undefined): void {
  const cells = [
    load === 'enqueue' ? 'no wait' : `${load} caller${load === '1' ? '' : 's'}`,
    name,
    shown(row.recordsPerSecond),
    limit === undefined ? '' : `${Math.round((100 * row.recordsPerSecond) / limit.recordsPerSecond)} %`,
    shown(row.refused),
    shown(row.latencyUs),
    shown(row.cpuNsPerRecord),
    shown(row.rssMiB),
    row.brokerCores?.toFixed(2) ?? '',
  ];
  console.log(`| ${cells.join(' | ')} |`);
}

try {
  for (const load of loads) {
    const best = new Map<string, Row>();
    rows.set(load, best);
    for (let round = 0; round < rounds; round++) {
      for (const [name, measure] of entriesOf(load)) {
        if (round > 0 && measuredOnce.has(name)) continue;
        const row = await onFreshTopic(`bench-${load}-${name}-${round}`, measure);
        if (row.recordsPerSecond > (best.get(name)?.recordsPerSecond ?? 0)) best.set(name, row);
      }
    }
    for (const [name, row] of best) print(load, name, row, best.get('probe'));
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
console.log(`\n${bars(rows).join('\n')}`);
