/**
 * Clients side by side on one real broker, each in a process of its own:
 *
 *   npm run bench:kafka -- [--seconds 6] [--value-bytes 100] [--only NAME,NAME]
 */
import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { startKafka, withAdmin } from '@sendonce/test-services';
import type { Figures } from './load.ts';
import { subjects } from './subjects.ts';

const run = promisify(execFile);
const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '6' },
    'value-bytes': { type: 'string', default: '100' },
    only: { type: 'string' },
  },
});
const { seconds, 'value-bytes': valueBytes } = values;
const wanted = values.only?.split(',');
const isWanted = (name: string) => wanted === undefined || wanted.includes(name);

type Row = Partial<Figures> & { readonly recordsPerSecond: number };
type Load = '2000' | '10' | '1' | 'enqueue';
const loads: readonly Load[] = ['2000', '10', '1', 'enqueue'];
const brokerJvmArgs = ['-Xms1g', '-Xmx1g', '-XX:+UseG1GC'];
const clientTimeoutMs = 120_000;
const folder = import.meta.dirname;

await using kafka = await startKafka({ jvmArgs: brokerJvmArgs, config: { 'log.segment.delete.delay.ms': 100 } });
const [bootstrap = ''] = kafka.bootstrap;

async function onFreshTopic(name: string, measure: (topic: string) => Promise<Row>): Promise<Row> {
  await kafka.createTopic({ topic: name });
  try {
    return await measure(name);
  } finally {
    await withAdmin(kafka.bootstrap, (admin) => admin.deleteTopics({ topics: [name] }));
  }
}

async function probe(topic: string, load: Load): Promise<Row> {
  const mode = load === 'enqueue' ? ['enqueue'] : ['send', load];
  const { stdout } = await run(
    process.execPath,
    [join(folder, 'probe.mjs'), bootstrap, topic, ...mode, ...(load === 'enqueue' ? ['1'] : []), seconds],
    {
      timeout: clientTimeoutMs,
    },
  );
  return { recordsPerSecond: Number(/(\d+) records\/s/.exec(stdout)?.[1]) };
}

async function subject(name: string, topic: string, load: Load): Promise<Row> {
  const command = [
    '--conditions=@sendonce/source',
    '--disable-warning=TimeoutNegativeWarning',
    join(folder, 'run-subject.ts'),
  ];
  const { stdout } = await run(process.execPath, [...command, name, bootstrap, topic, load, seconds, valueBytes], {
    timeout: clientTimeoutMs,
  });
  return JSON.parse(stdout.trim().split('\n').at(-1)!) as Figures;
}

async function java(topic: string): Promise<Row> {
  const records = 200_000 * Number(seconds);
  const properties = [`bootstrap.servers=${bootstrap}`, 'acks=all', 'enable.idempotence=true'];
  const output = await kafka.runTool('org.apache.kafka.tools.ProducerPerformance', [
    '--topic',
    topic,
    '--num-records',
    `${records}`,
    '--record-size',
    valueBytes,
    '--throughput',
    '-1',
    '--producer-props',
    ...properties,
  ]);
  return { recordsPerSecond: Math.round(Number(/([\d.]+) records\/sec[^\n]*99th/.exec(output)?.[1])) };
}

async function franzGo(binary: string, topic: string): Promise<Row> {
  const { stdout } = await run(binary, [bootstrap, topic, seconds, valueBytes], { timeout: clientTimeoutMs });
  return { recordsPerSecond: Number(stdout) };
}

/** Undefined where Go is missing. */
async function buildFranzGo(into: string): Promise<string | undefined> {
  if (spawnSync('go', ['version']).status !== 0) return undefined;
  const binary = join(into, 'franz-go-load');
  await run('go', ['build', '-mod=mod', '-o', binary, '.'], {
    cwd: join(folder, 'franz-go'),
    timeout: clientTimeoutMs * 2,
  });
  return binary;
}

const count = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
console.log(
  `Node ${process.version}, values of ${valueBytes} bytes, ${seconds} s each, one broker, one partition, acks all, idempotence on\n`,
);
console.log(
  '| load | client | records/s | of the probe | refused | CPU ns/record | RSS MiB |\n| --- | --- | ---: | ---: | ---: | ---: | ---: |',
);
const temporary = mkdtempSync(join(tmpdir(), 'bench-kafka-'));
try {
  const franzGoBinary = isWanted('franz-go') ? await buildFranzGo(temporary) : undefined;
  for (const load of loads) {
    const entries: [string, (topic: string) => Promise<Row>][] = [];
    // The probe's values have 100 bytes.
    if (valueBytes === '100') entries.push(['probe', (topic) => probe(topic, load)]);
    for (const name of Object.keys(subjects)) {
      if (load !== 'enqueue' || name === 'sendonce') entries.push([name, (topic) => subject(name, topic, load)]);
    }
    if (load === 'enqueue') {
      if (franzGoBinary) entries.push(['franz-go', (topic) => franzGo(franzGoBinary, topic)]);
      entries.push(['java', java]);
    }
    let limit: number | undefined;
    for (const [name, measure] of entries) {
      if (!isWanted(name)) continue;
      const row = await onFreshTopic(`bench-${load}-${name}`, measure);
      if (name === 'probe') limit = row.recordsPerSecond;
      const share = limit === undefined ? '' : `${Math.round((100 * row.recordsPerSecond) / limit)} %`;
      const shown = [row.refused, row.cpuNsPerRecord, row.rssMiB].map((figure) =>
        figure === undefined ? '' : count.format(figure),
      );
      const what = load === 'enqueue' ? 'no wait' : `${load} callers`;
      console.log(`| ${what} | ${name} | ${count.format(row.recordsPerSecond)} | ${share} | ${shown.join(' | ')} |`);
    }
  }
} finally {
  rmSync(temporary, { recursive: true, force: true });
}
