import { setImmediate } from 'node:timers/promises';
import { RandomInput } from './random-input.ts';
import type { FuzzTarget } from './targets.ts';

/** One input may take so long, on a busy machine too. */
const slowInputMs = 5000;
/** The process may grow by so much after the warm-up: several times what decoders may take, for garbage not yet collected. */
const memoryGrowthBytesMax = 256 * 1024 * 1024;
const warmUpIterations = 2000;
const memoryCheckEvery = 256;
/** Native packages give buffers back in a turn of the event loop. */
const turnEvery = 32;

/** An input with which a decoder did what it must not: another error, too slow, too much memory. */
export class FuzzFailure extends Error {
  override readonly name = 'FuzzFailure';

  constructor(target: string, seed: number, iteration: number, input: Buffer, what: string, options?: ErrorOptions) {
    super(
      [
        `${target}: ${what}`,
        `replay: npm run fuzz -- --seed ${seed} --target ${target} --iteration ${iteration}`,
        `input (${input.length} bytes): ${input.toString('hex')}`,
      ].join('\n'),
      options,
    );
  }
}

export interface FuzzReport {
  readonly iterations: number;
  /** How often each outcome was reached, by target. */
  readonly outcomes: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** The largest resident set of the process. */
  readonly peakMemoryBytes: number;
}

export interface FuzzOptions {
  readonly targets: readonly FuzzTarget[];
  readonly seed: number;
  /** Asked before each iteration. */
  readonly isOver: (iteration: number) => boolean;
  /** Told before each iteration. */
  readonly onIteration?: (iteration: number) => void;
}

function peakMemoryBytes(): number {
  return process.resourceUsage().maxRSS * 1024;
}

/** Gives one input to one target, and returns what became of it. */
export function fuzzOnce(target: FuzzTarget, seed: number, iteration: number): { input: Buffer; outcome: string } {
  const input = target.generate(new RandomInput(seed, target.name, iteration));
  const before = Buffer.from(input);
  const startedAtMs = performance.now();
  let outcome: string;
  try {
    outcome = target.decode(input);
  } catch (cause) {
    throw new FuzzFailure(target.name, seed, iteration, before, `threw ${String(cause)}`, { cause });
  }
  const tookMs = performance.now() - startedAtMs;
  if (tookMs > slowInputMs)
    throw new FuzzFailure(target.name, seed, iteration, before, `took ${Math.round(tookMs)} ms`);
  if (!input.equals(before)) throw new FuzzFailure(target.name, seed, iteration, before, 'changed its input');
  return { input, outcome };
}

/**
 * Gives each target one input an iteration, until `isOver`.
 * @throws {FuzzFailure}
 */
export async function fuzz({ targets, seed, isOver, onIteration }: FuzzOptions): Promise<FuzzReport> {
  const outcomes: Record<string, Record<string, number>> = {};
  let iteration = 0;
  let warmBytes = 0;
  for (; !isOver(iteration); iteration++) {
    onIteration?.(iteration);
    if (iteration % turnEvery === 0) await setImmediate();
    for (const target of targets) {
      const { input, outcome } = fuzzOnce(target, seed, iteration);
      outcomes[target.name] ??= {};
      const counts = outcomes[target.name]!;
      counts[outcome] = (counts[outcome] ?? 0) + 1;
      if (iteration % memoryCheckEvery !== 0) continue;
      const peakBytes = peakMemoryBytes();
      if (iteration <= warmUpIterations) warmBytes = peakBytes;
      else if (peakBytes - warmBytes > memoryGrowthBytesMax) {
        const what = `memory grew to ${peakBytes} bytes, in one of the last ${memoryCheckEvery} iterations`;
        throw new FuzzFailure(target.name, seed, iteration, input, what);
      }
    }
  }
  return { iterations: iteration, outcomes, peakMemoryBytes: peakMemoryBytes() };
}
