import { parseArgs } from 'node:util';

export interface DemoArguments {
  readonly help: boolean;
  /** No pauses for the reader. */
  readonly fast: boolean;
  /** One JSON object a line instead of text. */
  readonly json: boolean;
  /** Index of the only scene to show; all of them when absent. */
  readonly scene?: number;
  readonly seed: number;
  /** A real broker's address, or `start` to have one started; the memory broker when absent. */
  readonly kafka?: string;
}

/** The arguments make no sense; the message says which and what to write. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

const defaultSeed = 2026;

function wholeNumber(option: string, text: string, max: number): number {
  const number = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!(number <= max)) throw new UsageError(`--${option} takes a whole number from 0 to ${max}, not "${text}".`);
  return number;
}

function kafkaAddress(text: string): string {
  if (text === 'start') return text;
  const port = Number(text.match(/^(?:[^\s,:/]+|\[[0-9a-fA-F:.]+\]):(\d{1,5})$/)?.[1]);
  if (!(port >= 1 && port <= 65_535)) {
    throw new UsageError(`--kafka takes HOST:PORT of a broker, or "start" to have one started, not "${text}".`);
  }
  return text;
}

/**
 * Reads the demo's arguments.
 * @throws {UsageError}
 */
export function readArguments(args: readonly string[], sceneCount: number): DemoArguments {
  let values: { help?: boolean; fast?: boolean; json?: boolean; scene?: string; seed?: string; kafka?: string };
  try {
    ({ values } = parseArgs({
      args: [...args],
      options: {
        help: { type: 'boolean', short: 'h' },
        fast: { type: 'boolean' },
        json: { type: 'boolean' },
        scene: { type: 'string' },
        seed: { type: 'string' },
        kafka: { type: 'string' },
      },
    }));
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
  if (values.kafka !== undefined && values.scene !== undefined) {
    throw new UsageError(
      '--kafka sends the storm to a real broker and --scene shows a scene on the memory broker: give one of them.',
    );
  }
  return {
    help: values.help ?? false,
    fast: values.fast ?? false,
    json: values.json ?? false,
    seed: values.seed === undefined ? defaultSeed : wholeNumber('seed', values.seed, Number.MAX_SAFE_INTEGER),
    ...(values.scene === undefined ? {} : { scene: wholeNumber('scene', values.scene, sceneCount - 1) }),
    ...(values.kafka === undefined ? {} : { kafka: kafkaAddress(values.kafka) }),
  };
}

export function helpText(sceneTitles: readonly string[]): string {
  return `Usage: npm run demo -- [options]

A walkthrough of sending payments once: lost replies, a dead leader, a restart, and a count at the end. It runs on a
broker in memory and needs nothing else; about a minute.

  --fast             no pauses for the reader
  --scene N          one scene:
${sceneTitles.map((title, index) => `                       ${index}  ${title}`).join('\n')}
  --seed N           what the storm's faults are drawn from; the same seed gives the same storm (default ${defaultSeed})
  --json             one JSON object a line, without pauses
  --kafka HOST:PORT  sends the storm's payments to a real broker, through a proxy that loses replies
  --kafka start      the same, on a broker that the demo starts and stops (needs Java 17 and Maven)
  --help             this

Ends with status 0 when every check held, 1 when one did not, 2 when the arguments make no sense.
`;
}
