import { expect, test } from 'vitest';
import { Fifo } from './fifo.ts';

test('a Fifo gives back what it took, in order, while it is filled and emptied by turns', () => {
  const fifo = new Fifo<number>();
  let next = 0;
  let expected = 0;
  for (let round = 0; round < 200; round++) {
    for (let count = 0; count < 37; count++) fifo.push(next++);
    for (let count = 0; count < 31; count++) {
      expect(fifo.peek()).toBe(expected);
      expect(fifo.shift()).toBe(expected++);
    }
    expect(fifo.length).toBe(next - expected);
  }
  while (fifo.length > 0) expect(fifo.shift()).toBe(expected++);
  expect(expected).toBe(next);
  expect(fifo.shift()).toBeUndefined();
  expect(fifo.peek()).toBeUndefined();
});
