import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BufferPool } from './buffer-pool.ts';

test('C14: what is handed out never exceeds bufferMemory, and all of it comes back', () => {
  const command = fc.record({
    needed: fc.integer({ min: 1, max: 300_000 }),
    hint: fc.nat(300_000),
    isRelease: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(command, { maxLength: 300 }), (commands) => {
      const pool = new BufferPool(1_000_000, 262_144);
      const held: Buffer[] = [];
      for (const { needed, hint, isRelease } of commands) {
        if (isRelease && held.length > 0) pool.release(held.pop()!);
        else {
          const buffer = pool.acquire(needed, hint);
          if (buffer === null) expect(pool.availableBytes).toBeLessThan(needed);
          else {
            expect(buffer.length).toBeGreaterThanOrEqual(needed);
            held.push(buffer);
          }
        }
        expect(pool.usedBytes).toBe(held.reduce((sum, buffer) => sum + buffer.length, 0));
        expect(pool.usedBytes).toBeLessThanOrEqual(1_000_000);
      }
      for (const buffer of held) pool.release(buffer);
      expect(pool.usedBytes).toBe(0);
    }),
  );
});

test('a buffer that came back is handed out again', () => {
  const pool = new BufferPool(1_000_000, 262_144);
  const first = pool.acquire(100, 0)!;
  expect(first.length).toBe(4_096);
  pool.release(first);
  expect(pool.acquire(200, 0)).toBe(first);
});

test('a hint gives way when memory is short', () => {
  const pool = new BufferPool(300_000, 262_144);
  expect(pool.acquire(100, 262_144)!.length).toBe(262_144);
  expect(pool.acquire(100, 262_144)!.length).toBe(4_096);
});
