import { parseArgs } from 'node:util';
import { soak } from './soak.ts';
import { verdictOf } from './verdict.ts';

/** `npm run soak -- --minutes N [--rate N]` */
const { minutes, paymentsPerSecond } = readArguments();
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const sayWhen = (line: string): void => say(`${String(Math.round(performance.now() / 1_000)).padStart(4)} s  ${line}`);
const report = await soak({ durationMs: minutes * 60_000, paymentsPerSecond, say: sayWhen });
const { books } = report;
say('');
say(`${report.payments} payments in ${report.requests} requests, of which ${report.setbacks} had to be repeated`);
say(
  `${books.recordsInLog} records in the log, of ${books.paymentsInLog} payments; ${books.duplicatesCaughtByKey} repeats caught by their key`,
);
say(`${books.applied} applied, ${books.notified} notified, ledger sum ${books.ledgerSumMinor}`);
say('');
const checks = verdictOf(report);
for (const { claim, held, found } of checks) say(`${held ? 'ok    ' : 'FAILED'} ${claim}: ${found}`);
process.exitCode = checks.every(({ held }) => held) ? 0 : 1;

function readArguments(): { readonly minutes: number; readonly paymentsPerSecond: number } {
  try {
    const { values } = parseArgs({
      options: { minutes: { type: 'string', default: '2' }, rate: { type: 'string', default: '50' } },
    });
    const minutes = Number(values.minutes);
    const paymentsPerSecond = Number(values.rate);
    if (minutes > 0 && minutes <= 10_000 && paymentsPerSecond > 0 && paymentsPerSecond <= 1_000) {
      return { minutes, paymentsPerSecond };
    }
  } catch {
    // The usage says what there is.
  }
  process.stderr.write(
    'Usage: npm run soak -- --minutes N (above 0, up to 10000) --rate PAYMENTS_PER_SECOND (above 0, up to 1000)\n',
  );
  process.exit(2);
}
