import { expect, test } from 'vitest';
import { FlushTracker } from './flush-tracker.ts';

const isDone = async (promise: Promise<void>): Promise<boolean> =>
  await Promise.race([promise.then(() => true), new Promise<boolean>((resolve) => setImmediate(() => resolve(false)))]);

test('flush resolves at once when nothing is pending', async () => {
  expect(await isDone(new FlushTracker().flush())).toBe(true);
});

test('flush waits for what entered before it, and not for what entered after', async () => {
  const tracker = new FlushTracker();
  const before = tracker.enter();
  const flushed = tracker.flush();
  const after = tracker.enter();
  tracker.leave(after);
  expect(await isDone(flushed)).toBe(false);
  tracker.leave(before);
  expect(await isDone(flushed)).toBe(true);
});

test('a later flush waits for what an earlier one waits for', async () => {
  const tracker = new FlushTracker();
  const first = tracker.enter();
  const one = tracker.flush();
  const second = tracker.enter();
  const two = tracker.flush();
  const three = tracker.flush();
  tracker.leave(second);
  expect(await isDone(two)).toBe(false);
  expect(await isDone(three)).toBe(false);
  tracker.leave(first);
  expect(await Promise.all([isDone(one), isDone(two), isDone(three)])).toEqual([true, true, true]);
});
