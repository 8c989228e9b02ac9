import { type DemoArguments, helpText, readArguments, UsageError } from './cli/arguments.ts';
import { JsonPrinter } from './narration/json-printer.ts';
import { Narration } from './narration/narration.ts';
import { noPauses, readersPace } from './narration/pace.ts';
import type { Printer, WalkthroughSummary } from './narration/script.ts';
import { TextPrinter, type TextStream } from './narration/text-printer.ts';
import { scenes } from './scenes/index.ts';
import { storm } from './scenes/storm.ts';
import { runWalkthrough, Verdict } from './walkthrough.ts';

/** What a process gives the demo. */
export interface DemoSurroundings {
  readonly args: readonly string[];
  readonly stdout: TextStream;
  readonly stderr: NodeJS.WritableStream;
  /** Aborted when the user presses Ctrl-C. */
  readonly signal: AbortSignal;
}

/** Exit statuses of the demo; 130 is what shells show for Ctrl-C. */
const status = { held: 0, failed: 1, usage: 2, interrupted: 130 } as const;
const kafkaPayments = 3_000;

/** Runs the demo and returns its exit status. */
export async function runDemo({ args, stdout, stderr, signal }: DemoSurroundings): Promise<number> {
  const titles = scenes.map(({ title }) => title);
  let demo: DemoArguments;
  try {
    demo = readArguments(args, scenes.length);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    stderr.write(`${error.message}\n\n${helpText(titles)}`);
    return status.usage;
  }
  if (demo.help) {
    stdout.write(helpText(titles));
    return status.held;
  }
  const printer = demo.json ? new JsonPrinter(stdout) : new TextPrinter(stdout);
  try {
    const { failedChecks } = await play(demo, printer, signal);
    return failedChecks.length === 0 ? status.held : status.failed;
  } catch (error) {
    if (signal.aborted) {
      stderr.write('\nStopped.\n');
      return status.interrupted;
    }
    stderr.write(`\nThe demo could not go on: ${(error as Error).message}\n`);
    return status.failed;
  }
}

async function play(demo: DemoArguments, printer: Printer, signal: AbortSignal): Promise<WalkthroughSummary> {
  const { kafka, scene, seed } = demo;
  if (kafka === undefined) {
    const pace = demo.fast || demo.json ? noPauses : readersPace(signal);
    return runWalkthrough({ scenes, only: scene, seed, printer, pace, signal });
  }
  // Loaded only here: the walkthrough itself needs no Kafka client.
  const { playKafkaStorm } = await import('./kafka/kafka-storm.ts');
  const verdict = new Verdict();
  printer.sceneStarts(scenes.indexOf(storm), 'The storm, on a real broker');
  const narration = new Narration((item) => {
    printer.item(item);
    verdict.note(item);
  });
  await playKafkaStorm(narration, { kafka, seed, payments: kafkaPayments, signal });
  printer.end(verdict.summary);
  return verdict.summary;
}
