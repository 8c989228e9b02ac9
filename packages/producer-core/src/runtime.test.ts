import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { platformRuntime } from './runtime.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const longestTimerMs = 2 ** 31 - 1;

test.each([longestTimerMs, longestTimerMs + 1, 3 * longestTimerMs, 1e12])(
  'the platform’s runtime waits %d ms and no less, and calls once',
  (delayMs) => {
    const called = vi.fn();
    platformRuntime.schedule(delayMs, called);
    vi.advanceTimersByTime(delayMs - 1);
    expect(called).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(called).toHaveBeenCalledOnce();
    expect(vi.getTimerCount()).toBe(0);
  },
);

test('a long timer can be cancelled at any time', () => {
  const called = vi.fn();
  for (const waitedMs of [0, longestTimerMs + 5]) {
    const timer = platformRuntime.schedule(2 * longestTimerMs + 10, called);
    vi.advanceTimersByTime(waitedMs);
    platformRuntime.cancel(timer);
    expect(vi.getTimerCount()).toBe(0);
  }
  expect(called).not.toHaveBeenCalled();
});
