import { parseArgs } from 'node:util';
import { type SoakReport, SoakStoppedError, soak } from './soak.ts';
import { verdictOf } from './verdict.ts';

/** What a shell calls a command that Ctrl-C ended. */
const stoppedStatus = 130;

/** `npm run soak -- --minutes N [--rate N]` */
const { minutes, paymentsPerSecond } = readArguments();
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const sayWhen = (line: string): void => say(`${String(Math.round(performance.now() / 1_000)).padStart(4)} s  ${line}`);
const stop = stopOnSignal();
const report = await soakUntilStopped();
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
if (stop.aborted) say('\nStopped early: what was accepted by then is compared.');
process.exitCode = checks.every(({ held }) => held) ? (stop.aborted ? stoppedStatus : 0) : 1;

/** The first Ctrl-C ends the trouble, and the books are compared. With a second one everything ends at once. */
function stopOnSignal(): AbortSignal {
  const controller = new AbortController();
  const onSignal = (): void => {
    if (controller.signal.aborted) process.exit(stoppedStatus);
    sayWhen('stopping; Ctrl-C again ends it at once');
    controller.abort();
  };
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  return controller.signal;
}

async function soakUntilStopped(): Promise<SoakReport> {
  sayWhen(
    `${minutes} minutes of ${paymentsPerSecond} payments a second, while each service is killed in turn, once at least`,
  );
  try {
    return await soak({ durationMs: minutes * 60_000, paymentsPerSecond, say: sayWhen, signal: stop });
  } catch (error) {
    const isStopped = error instanceof SoakStoppedError;
    process.stderr.write(isStopped ? `${error.message}\n` : `The soak could not go on: ${(error as Error).message}\n`);
    process.exit(isStopped ? stoppedStatus : 1);
  }
}

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
