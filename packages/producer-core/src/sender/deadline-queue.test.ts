import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createSimulatedRuntime } from '../testing/index.ts';
import { CallbackDeadline, DeadlineQueue } from './deadline-queue.ts';

const here = <T>(work: () => T): T => work();

describe('DeadlineQueue', () => {
  test('deadlines come due in the order of their times, whatever was removed or moved', async () => {
    const command = fc.record({ entry: fc.nat(19), atMs: fc.nat(1_000), isRemoved: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.array(command, { maxLength: 200 }), async (commands) => {
        const runtime = createSimulatedRuntime({ seed: 1 });
        const queue = new DeadlineQueue(runtime, here);
        const due: { entry: number; atMs: number }[] = [];
        const entries = Array.from({ length: 20 }, (_, entry) => {
          const deadline: CallbackDeadline = new CallbackDeadline(() =>
            due.push({ entry, atMs: runtime.monotonicMs() - startMs }),
          );
          return deadline;
        });
        const startMs = runtime.monotonicMs();
        const expected = new Map<number, number>();
        for (const { entry, atMs, isRemoved } of commands) {
          if (isRemoved) {
            queue.remove(entries[entry]!);
            expected.delete(entry);
          } else {
            queue.set(entries[entry]!, startMs + atMs);
            expected.set(entry, atMs);
          }
          expect(queue.size).toBe(expected.size);
        }
        await runtime.advance(2_000);
        expect(new Map(due.map(({ entry, atMs }) => [entry, atMs]))).toEqual(expected);
        expect(due.map(({ atMs }) => atMs)).toEqual(due.map(({ atMs }) => atMs).sort((a, b) => a - b));
        expect(queue.size).toBe(0);
      }),
      { numRuns: 200 },
    );
  });

  test('a deadline may set others while it is due, and a closed queue calls nobody', async () => {
    const runtime = createSimulatedRuntime({ seed: 1 });
    const queue = new DeadlineQueue(runtime, here);
    const calls: string[] = [];
    const second = new CallbackDeadline(() => calls.push('second'));
    const third = new CallbackDeadline(() => calls.push('third'));
    queue.set(
      new CallbackDeadline(() => {
        calls.push('first');
        queue.set(second, runtime.monotonicMs());
        queue.set(third, runtime.monotonicMs() + 10);
      }),
      runtime.monotonicMs() + 5,
    );
    await runtime.advance(6);
    expect(calls).toEqual(['first', 'second']);
    queue.close();
    queue.set(new CallbackDeadline(() => calls.push('late')), runtime.monotonicMs());
    await runtime.advance(100);
    expect(calls).toEqual(['first', 'second']);
  });
});
