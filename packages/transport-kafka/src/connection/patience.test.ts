import { expect, test } from 'vitest';
import { Patience } from './patience.ts';

test('a connection that was given up buys the next one twice the time', () => {
  const patience = new Patience();
  expect(patience.ms).toBe(3_000);
  patience.gaveUp();
  patience.gaveUp();
  expect(patience.ms).toBe(12_000);
});

test('a fast answer after that proves that giving up was right, a slow one that it was not', () => {
  const patience = new Patience();
  patience.gaveUp();
  patience.answered(10);
  expect(patience.ms).toBe(3_000);
  patience.gaveUp();
  patience.answered(4_500);
  expect(patience.ms).toBe(9_000);
});

test('a slow broker gets twice the time that it needed, and loses it again by answering fast', () => {
  const patience = new Patience();
  patience.answered(4_000);
  expect(patience.ms).toBe(8_000);
  for (let i = 0; i < 20; i++) patience.answered(10);
  expect(patience.ms).toBe(3_000);
});
