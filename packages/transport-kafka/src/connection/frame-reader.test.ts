import { describe, expect, test } from 'vitest';
import { int32 } from '../scripted-broker.testkit.ts';
import { FrameLengthError, FrameReader, maxFrameBytes } from './frame-reader.ts';

const frame = (text: string) => Buffer.concat([int32(text.length), Buffer.from(text)]);

function framesOf(...chunks: Buffer[]): string[] {
  const frames: string[] = [];
  const reader = new FrameReader((buffer, start, end) => frames.push(buffer.toString('latin1', start, end)));
  for (const chunk of chunks) {
    const transient = Buffer.from(chunk);
    reader.push(transient);
    transient.fill(0); // the read buffer is used again
  }
  return frames;
}

describe('FrameReader', () => {
  const texts = ['first', 'x'.repeat(100_000), 'four', 'last one'];
  const stream = Buffer.concat(texts.map(frame));

  test.each([1, 2, 3, 4, 5, 7, 4096, 65_536, stream.length])('finds the same frames in chunks of %d bytes', (size) => {
    const chunks = [];
    for (let at = 0; at < stream.length; at += size) chunks.push(stream.subarray(at, at + size));
    expect(framesOf(...chunks)).toEqual(texts);
  });

  test.each([-1, 0, 3, maxFrameBytes + 1, 2 ** 31 - 1])('refuses a frame of %d bytes', (length) => {
    expect(() => framesOf(int32(length))).toThrow(FrameLengthError);
    expect(() => framesOf(int32(length).subarray(0, 2), int32(length).subarray(2))).toThrow(FrameLengthError);
  });

  test('memory follows the bytes that came, not the length that was announced', () => {
    const before = process.memoryUsage().arrayBuffers;
    const readers = Array.from({ length: 50 }, () => new FrameReader(() => {}));
    for (const reader of readers) reader.push(Buffer.concat([int32(maxFrameBytes), Buffer.from('a little')]));
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(16 * 1024 * 1024);
  });

  test.each([
    [0x15030300, 'set `ssl`'],
    [0x48545450, 'web server'],
  ])('tells what the first bytes %d are', (length, hint) => {
    expect(() => framesOf(int32(length))).toThrow(hint);
  });
});
