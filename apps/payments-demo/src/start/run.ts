import { PartError } from '../system/part-error.ts';
import { SettingsError } from './settings.ts';

export interface Running {
  /** Drains and stops it. */
  close(): Promise<void>;
}

const LONGEST_TIMER_MS = 2 ** 31 - 1;
/** What a shell calls a command that Ctrl-C ended. */
const stoppedStatus = 130;
/** Where it says which one to use. */
const variables = { Postgres: 'DATABASE_URL', Kafka: 'KAFKA_BROKERS', Redis: 'REDIS_URL' } as const;

/**
 * Runs something until the process is told to stop: SIGTERM and SIGINT drain it, a second one ends it at once, and so does the first
 * one before it has started.
 * Sets the exit status: 0 after a clean stop, 1 when it could not start or stop, 2 when it was given arguments (it has none), 130 when
 * it was stopped before it had started.
 */
export async function runUntilStopped(start: () => Promise<Running>): Promise<void> {
  if (process.argv.length > 2) {
    process.stderr.write(
      'It takes no arguments. Settings come from the environment: PORT, and for demo:real KAFKA_BROKERS, DATABASE_URL, REDIS_URL.\n',
    );
    process.exitCode = 2;
    return;
  }
  const stop = new AbortController();
  let isStarted = false;
  const onSignal = (): void => {
    if (stop.signal.aborted) process.exit(1);
    if (!isStarted) {
      // Nothing was promised to anybody so far; services that were started end with this process.
      process.stderr.write('Stopped before it had started.\n');
      process.exit(stoppedStatus);
    }
    process.stderr.write('Stopping when what is in hand is done. Once more ends it at once.\n');
    stop.abort();
  };
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal);
  try {
    const running = await start();
    isStarted = true;
    // What runs in processes of its own does not keep this one alive.
    const alive = setInterval(() => {}, LONGEST_TIMER_MS);
    await new Promise<void>((resolve) => {
      stop.signal.addEventListener('abort', () => resolve(), { once: true });
    });
    clearInterval(alive);
    await running.close();
  } catch (error) {
    process.exitCode = 1;
    process.stderr.write(`${explain(error)}\n`);
  }
}

function explain(error: unknown): string {
  const { code, port } = error as { code?: string; port?: number };
  if (code === 'EADDRINUSE')
    return `Port ${port} is taken. Stop what uses it, or choose another: PORT=8081 (PORT=0 takes any free one).`;
  if (error instanceof SettingsError) return error.message;
  const named = error instanceof PartError ? variables[error.service] : null;
  if (named !== null && process.env[named])
    return `The demo could not go on: ${(error as Error).message}. Does ${named} name one that answers?`;
  return `The demo could not go on: ${(error as Error).message}`;
}
