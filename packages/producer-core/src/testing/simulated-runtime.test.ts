import { describe, expect, test } from 'vitest';
import type { Runtime } from '../runtime.ts';
import { createSimulatedRuntime, SimulationError } from './index.ts';

/** A tangle of timers, promises and draws; returns what happened, in order. */
async function tangle(
  seed: number,
  options: { ties?: 'random' | 'fifo'; extraDraw?: boolean } = {},
): Promise<string[]> {
  const runtime = createSimulatedRuntime({ seed, ...(options.ties === undefined ? {} : { ties: options.ties }) });
  const trace: string[] = [];
  const note = (text: string): number => trace.push(`${runtime.monotonicMs()} ${text}`);
  const worker = async (name: string, own: Runtime): Promise<void> => {
    for (let round = 0; round < 5; round++) {
      await new Promise<void>((resolve) => own.schedule(Math.floor(own.random() * 3), resolve));
      note(`${name} ${round} ${own.random()}`);
      await new Promise<void>((resolve) => own.endOfTurn(resolve));
    }
  };
  const names = ['a', 'b', 'c', 'd'];
  for (const name of names) void worker(name, runtime.fork(name));
  if (options.extraDraw) runtime.fork('late').random();
  await runtime.run();
  return trace;
}

describe('simulated runtime', () => {
  test('M7, C17: the same seed gives the same run, another seed another one', async () => {
    const first = await tangle(1);
    expect(await tangle(1)).toEqual(first);
    const others = await Promise.all([2, 3, 4].map((seed) => tangle(seed)));
    for (const other of others) expect(other).not.toEqual(first);
  });

  test('a draw from one stream does not shift another', async () => {
    expect(await tangle(7, { extraDraw: true })).toEqual(await tangle(7));
  });

  test('the same name gives the same stream, and goes on where it stopped', () => {
    const one = createSimulatedRuntime({ seed: 5 });
    const other = createSimulatedRuntime({ seed: 5 });
    const draws = [one.fork('x').random(), one.fork('x').random()];
    const again = other.fork('x');
    expect([again.random(), again.random()]).toEqual(draws);
    expect(draws[0]).not.toBe(draws[1]);
    expect(one.fork('y').random()).not.toBe(draws[0]);
  });

  test('tasks that are due together run in the order drawn from the seed, or as they came', async () => {
    const orders = new Set<string>();
    for (let seed = 0; seed < 60; seed++) {
      const runtime = createSimulatedRuntime({ seed });
      const order: string[] = [];
      for (const name of 'abc') runtime.schedule(1, () => order.push(name));
      await runtime.run();
      orders.add(order.join(''));
    }
    expect([...orders].sort()).toEqual(['abc', 'acb', 'bac', 'bca', 'cab', 'cba']);

    const fifo = createSimulatedRuntime({ seed: 3, ties: 'fifo' });
    const order: string[] = [];
    for (const name of 'abcdefgh') fifo.endOfTurn(() => order.push(name));
    await fifo.settle();
    expect(order.join('')).toBe('abcdefgh');
  });

  test('tasks run in the order of their times, and the clocks show them', async () => {
    const runtime = createSimulatedRuntime({ seed: 1, wallClockStartMs: 1_000_000 });
    const seen: [string, number, number][] = [];
    for (const delayMs of [30, 10, 20]) {
      runtime.schedule(delayMs, () => seen.push([`after ${delayMs}`, runtime.monotonicMs(), runtime.wallClockMs()]));
    }
    await runtime.advance(20);
    expect(runtime.monotonicMs()).toBe(20);
    runtime.moveWallClock(-500);
    await runtime.advance(100);
    expect(seen).toEqual([
      ['after 10', 10, 1_000_010],
      ['after 20', 20, 1_000_020],
      ['after 30', 30, 999_530],
    ]);
    expect(runtime.monotonicMs()).toBe(120);
  });

  test('every microtask of a task is done before the next task, however long its chain of promises', async () => {
    const runtime = createSimulatedRuntime({ seed: 1 });
    const seen: string[] = [];
    const chain = async (name: string): Promise<void> => {
      for (let hop = 0; hop < 10_000; hop++) await null;
      seen.push(name);
    };
    for (const name of ['a', 'b', 'c']) {
      runtime.schedule(1, () => {
        seen.push('task');
        void chain(name);
      });
    }
    await runtime.run();
    expect(seen.map((entry) => (entry === 'task' ? 'task' : 'chain'))).toEqual([
      'task',
      'chain',
      'task',
      'chain',
      'task',
      'chain',
    ]);
  });

  test('a cancelled timer does not run, and cancelling twice or too late is ignored', async () => {
    const runtime = createSimulatedRuntime({ seed: 1 });
    let runs = 0;
    const timers = Array.from({ length: 100 }, (_, index) => runtime.schedule(index % 7, () => void runs++));
    for (const timer of timers.slice(0, 50)) runtime.cancel(timer);
    expect(runtime.pendingTasks).toBe(50);
    await runtime.run();
    expect(runs).toBe(50);
    for (const timer of timers) runtime.cancel(timer);
    expect(runtime.pendingTasks).toBe(0);
  });

  test('after a stall, timers run late, in the order of their times', async () => {
    const runtime = createSimulatedRuntime({ seed: 1 });
    const seen: string[] = [];
    runtime.schedule(20, () => seen.push(`second at ${runtime.monotonicMs()}`));
    runtime.schedule(10, () => seen.push(`first at ${runtime.monotonicMs()}`));
    runtime.stall(1000);
    runtime.endOfTurn(() => seen.push('last'));
    await runtime.settle();
    expect(seen).toEqual(['first at 1000', 'second at 1000', 'last']);
  });

  test('too many steps end in an error that lists what is scheduled', async () => {
    const runtime = createSimulatedRuntime({ seed: 1 });
    const spin = (): void => void runtime.fork('spinner').schedule(0, spin);
    spin();
    const run = runtime.run({ maxSteps: 5000 });
    await expect(run).rejects.toThrow(SimulationError);
    await expect(run).rejects.toThrow(/5000 steps.*\n.*timer "spin" of spinner due at 0 ms/);
  });

  test('a condition that never holds is an error, not a hang', async () => {
    const runtime = createSimulatedRuntime({ seed: 1 });
    runtime.schedule(5, () => {});
    await expect(runtime.run({ until: () => false })).rejects.toThrow(/Nothing is scheduled any more at 5 ms/);
    await expect(runtime.runUntilSettled(new Promise(() => {}))).rejects.toThrow(SimulationError);
    await expect(runtime.runUntilSettled(new Promise(() => {}), { untilMs: 10 })).rejects.toThrow(/pending at 10 ms/);
  });

  test('runs until a promise is settled and hands over its result, or its error', async () => {
    const runtime = createSimulatedRuntime({ seed: 1 });
    const later = new Promise<string>((resolve) => runtime.schedule(10, () => resolve('done')));
    runtime.schedule(20, () => {});
    expect(await runtime.runUntilSettled(later)).toBe('done');
    expect(runtime.monotonicMs()).toBe(10);
    const failing = new Promise((_, reject) => runtime.schedule(1, () => reject(new Error('no'))));
    await expect(runtime.runUntilSettled(failing)).rejects.toThrow('no');
  });

  test('a delay that is no finite number is refused, and one longer than setTimeout’s is kept', () => {
    const runtime = createSimulatedRuntime({ seed: 1 });
    for (const delayMs of [Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => runtime.fork('sender').schedule(delayMs, () => {})).toThrow(/sender asked for a timer/);
    }
    runtime.schedule(2 ** 40, () => {});
    expect(runtime.describePending()).toEqual([`timer "anonymous" of the runtime due at ${2 ** 40} ms`]);
    runtime.schedule(-5, () => {});
    expect(runtime.describePending(1)).toEqual(['timer "anonymous" of the runtime due at 0 ms']);
  });

  test('an error thrown by a task ends the run', async () => {
    const runtime = createSimulatedRuntime({ seed: 1 });
    runtime.schedule(1, () => {
      throw new Error('broken task');
    });
    await expect(runtime.run()).rejects.toThrow('broken task');
    await expect(runtime.run()).resolves.toBeUndefined();
  });

  test('two runs at a time are refused', async () => {
    const runtime = createSimulatedRuntime({ seed: 1 });
    const first = runtime.run();
    await expect(runtime.run()).rejects.toThrow(/running already/);
    await first;
  });

  test('a seed that is not a whole number is refused', () => {
    for (const seed of [-1, 1.5, Number.NaN, 2 ** 53])
      expect(() => createSimulatedRuntime({ seed })).toThrow(RangeError);
  });

  test('random numbers are spread evenly over [0, 1)', () => {
    const runtime = createSimulatedRuntime({ seed: 2 ** 40 + 1 });
    const buckets = new Array<number>(10).fill(0);
    for (let draw = 0; draw < 100_000; draw++) {
      const value = runtime.random();
      expect(value >= 0 && value < 1).toBe(true);
      buckets[Math.floor(value * 10)]!++;
    }
    for (const count of buckets) expect(Math.abs(count - 10_000)).toBeLessThan(500);
  });
});
