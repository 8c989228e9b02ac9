/**
 * Three real brokers behind a proxy that loses, cuts and delays, while they are frozen and killed; a producer sends through it;
 * then everything is read back and held against what the producer said.
 *
 *   npm run chaos -- [--client sendonce|kafkajs|kafka-ts|platformatic] [--minutes 2] [--rate 100] [--seed 1] [--seeds 1] [--json]
 *
 * Exits with 1 when sendonce breaks its promise. Its producer has telemetry on, with a span for each record and each attempt: one that does not end is
 * a broken promise too.
 */
import { parseArgs } from 'node:util';
import { clients } from './clients/index.ts';
import { countSpans, type SpanCount } from './span-count.ts';
import { runStorm, type StormReport } from './storm.ts';

const usage = `usage: npm run chaos -- [--client ${Object.keys(clients).join('|')}] [--minutes 2] [--rate 100] [--seed 1] [--seeds 1] [--json]`;

const { values } = parseArgs({
  options: {
    client: { type: 'string', default: 'sendonce' },
    minutes: { type: 'string', default: '2' },
    rate: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
    seeds: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
  },
});
const [minutes, rate, seed, seeds] = [values.minutes, values.rate, values.seed, values.seeds].map(Number) as [
  number,
  number,
  number,
  number,
];
if (!(values.client in clients) || !(minutes > 0) || !(rate > 0) || !Number.isInteger(seed) || !(seeds >= 1)) {
  console.error(usage);
  process.exit(2);
}

function print(seedOfRun: number, { audit, recoveryMs, faults }: StormReport, { started, ended }: SpanCount): void {
  const spans = started === 0 ? {} : { spansStarted: started, spansEnded: ended };
  if (values.json) {
    console.log(JSON.stringify({ client: values.client, seed: seedOfRun, ...audit, recoveryMs, ...spans, faults }));
    return;
  }
  const { latencyMs, ...counts } = audit;
  console.log(`\n${values.client}, seed ${seedOfRun}`);
  console.table({
    ...counts,
    recoveryMs,
    ...spans,
    ...Object.fromEntries(Object.entries(latencyMs).map(([name, ms]) => [`latency ${name} ms`, ms])),
  });
  console.table(faults);
}

let isBroken = false;
for (let i = 0; i < seeds; i++) {
  const spans = countSpans();
  const report = await runStorm({ client: values.client, seed: seed + i, minutes, rate, hooks: spans.hooks });
  print(seed + i, report, spans);
  const { duplicates, lost, disorder, wrongFates } = report.audit;
  const openSpans = spans.started - spans.ended;
  if (values.client === 'sendonce' && duplicates + lost + disorder + wrongFates + openSpans > 0) isBroken = true;
}
process.exit(isBroken ? 1 : 0);
