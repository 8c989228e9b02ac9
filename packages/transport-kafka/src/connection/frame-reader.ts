/** The peer announced a frame that no Kafka broker would send. */
export class FrameLengthError extends Error {
  override readonly name = 'FrameLengthError';
  readonly lengthBytes: number;

  constructor(lengthBytes: number) {
    super(`a frame of ${lengthBytes} bytes is announced${guessAt(lengthBytes)}`);
    this.lengthBytes = lengthBytes;
  }
}

/**
 * Far more than any reply to a producer: metadata of 100,000 partitions takes about 5 MB. Memory for a frame grows with the bytes
 * that arrive, not with the length that is announced.
 */
export const maxFrameBytes = 64 * 1024 * 1024;

const firstBufferBytes = 64 * 1024;
const smallestFrameBytes = 4; // the correlation id

/** The first four bytes of what is not Kafka are read as a length; some are well known. */
function guessAt(length: number): string {
  const firstByte = (length >>> 24) & 0xff;
  if (firstByte === 0x15 || firstByte === 0x16)
    return ': these are the first bytes of TLS. The listener wants TLS: set `ssl`';
  if (length === 0x48545450) return ': these are the letters "HTTP". The port belongs to a web server';
  return '';
}

/** Gets each frame without its length. The bytes may be overwritten after the call. */
export type OnFrame = (buffer: Buffer, start: number, end: number) => void;

/** Cuts a stream of bytes into frames. A frame that lies within one chunk is handed on where it is. */
export class FrameReader {
  readonly #onFrame: OnFrame;
  /** The beginning of a frame whose end has not arrived, its length included. */
  #partial: Buffer = Buffer.alloc(0);
  #partialBytes = 0;

  constructor(onFrame: OnFrame) {
    this.#onFrame = onFrame;
  }

  /** Throws {@link FrameLengthError}; the reader can't be used after that. */
  push(chunk: Buffer): void {
    let at = this.#partialBytes > 0 ? this.#complete(chunk) : 0;
    while (chunk.length - at >= 4) {
      const end = at + 4 + checkedLength(chunk.readInt32BE(at));
      if (end > chunk.length) break;
      this.#onFrame(chunk, at + 4, end);
      at = end;
    }
    if (at < chunk.length) this.#keep(chunk, at, chunk.length);
  }

  /** Adds to the partial frame what it lacks, and hands it on when it is whole. Returns how many bytes that took. */
  #complete(chunk: Buffer): number {
    let at = 0;
    if (this.#partialBytes < 4) {
      at = Math.min(4 - this.#partialBytes, chunk.length);
      this.#keep(chunk, 0, at);
      if (this.#partialBytes < 4) return at;
    }
    const frameBytes = 4 + checkedLength(this.#partial.readInt32BE(0));
    const end = Math.min(at + frameBytes - this.#partialBytes, chunk.length);
    this.#keep(chunk, at, end);
    if (this.#partialBytes === frameBytes) {
      this.#partialBytes = 0;
      this.#onFrame(this.#partial, 4, frameBytes);
      if (this.#partial.length > firstBufferBytes) this.#partial = Buffer.alloc(0);
    }
    return end;
  }

  #keep(chunk: Buffer, start: number, end: number): void {
    const needed = this.#partialBytes + end - start;
    if (needed > this.#partial.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(firstBufferBytes, 2 * this.#partial.length, needed));
      this.#partial.copy(grown, 0, 0, this.#partialBytes);
      this.#partial = grown;
    }
    chunk.copy(this.#partial, this.#partialBytes, start, end);
    this.#partialBytes = needed;
  }
}

function checkedLength(length: number): number {
  if (length < smallestFrameBytes || length > maxFrameBytes) throw new FrameLengthError(length);
  return length;
}
