/**
 * Three real brokers behind a proxy that loses, cuts and delays, while they are frozen and killed; a producer sends through it;
 * then everything is read back and held against what the producer said.
 *
 *   npm run chaos -- [--client sendonce|kafkajs|kafka-ts|platformatic|franz-go] [--minutes 2] [--rate 100] [--seed 1] [--seeds 1]
 *                    [--request-timeout-ms N] [--json] [--out FILE] [--trace FILE]
 *
 * `--seeds 30` runs thirty storms one after the other, with the seeds 1 to 30. `--out` adds a line of JSON to the file for each;
 * `npm run chaos:report` makes docs/chaos.md of them. `--trace` writes down each fault and each attempt. Exits with 1 when sendonce breaks its promise. Its
 * producer has telemetry on, with a span for each record and each attempt: one that does not end is a broken promise too.
 */
import { appendFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { clients } from './clients/index.ts';
import type { StormResult } from './results.ts';
import { countSpans } from './span-count.ts';
import { runStorm, startStormCluster } from './storm.ts';
import { Trace } from './trace.ts';

const usage = `usage: npm run chaos -- [--client ${Object.keys(clients).join('|')}] [--minutes 2] [--rate 100] [--seed 1] [--seeds 1] [--request-timeout-ms N] [--json] [--out FILE] [--trace FILE]`;

const { values } = parseArgs({
  options: {
    client: { type: 'string', default: 'sendonce' },
    minutes: { type: 'string', default: '2' },
    rate: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
    seeds: { type: 'string', default: '1' },
    'request-timeout-ms': { type: 'string' },
    json: { type: 'boolean', default: false },
    out: { type: 'string' },
    trace: { type: 'string' },
  },
});
const { client, json, out } = values;
const [minutes, rate, firstSeed, seeds] = [values.minutes, values.rate, values.seed, values.seeds].map(Number) as [
  number,
  number,
  number,
  number,
];
const requestTimeoutMs = values['request-timeout-ms'] === undefined ? undefined : Number(values['request-timeout-ms']);
const isUsable =
  client in clients &&
  minutes > 0 &&
  rate > 0 &&
  Number.isInteger(firstSeed) &&
  seeds >= 1 &&
  (requestTimeoutMs ?? 1) > 0;
if (!isUsable) {
  console.error(usage);
  process.exit(2);
}

function print({ seed, audit, recoveryMs, acknowledgedPerSecond, spans, openSpans, faults }: StormResult): void {
  const { latencyMs, ...counts } = audit;
  console.log(`\n${client}, seed ${seed}`);
  console.table({
    ...counts,
    acknowledgedPerSecond,
    recoveryMs,
    spans,
    openSpans,
    ...Object.fromEntries(Object.entries(latencyMs).map(([name, ms]) => [`latency ${name} ms`, ms])),
  });
  console.table(faults);
}

let isBroken = false;
const trace = values.trace === undefined ? undefined : new Trace(values.trace);
await using cluster = await startStormCluster();
for (let i = 0; i < seeds; i++) {
  const spans = countSpans();
  const options = { client, seed: firstSeed + i, minutes, rate, requestTimeoutMs };
  trace?.note(`seed ${options.seed}`);
  const report = await runStorm(cluster, { ...options, hooks: spans.hooks, trace });
  const openSpans = spans.started - spans.ended;
  const result: StormResult = {
    date: new Date().toISOString().slice(0, 10),
    ...options,
    ...report,
    spans: spans.started,
    openSpans,
  };
  const line = JSON.stringify(result);
  if (out !== undefined) appendFileSync(out, `${line}\n`);
  if (json) console.log(line);
  else print(result);
  const { duplicates, lost, disorder, wrongFates } = report.audit;
  if (client === 'sendonce' && duplicates + lost + disorder + wrongFates + openSpans > 0) isBroken = true;
}
process.exitCode = isBroken ? 1 : 0;
