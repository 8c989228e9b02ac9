/** Cuts a stream into Kafka's frames: a four-byte length, then that many bytes. The frames include their length. */
export class FrameSplitter {
  #rest: Buffer[] = [];
  #restBytes = 0;

  push(chunk: Buffer): Buffer[] {
    this.#rest.push(chunk);
    this.#restBytes += chunk.length;
    const frames: Buffer[] = [];
    for (;;) {
      if (this.#restBytes < 4) return frames;
      const first = this.#rest[0]!;
      const head = first.length >= 4 ? first : this.#join();
      const length = 4 + head.readInt32BE(0);
      if (this.#restBytes < length) return frames;
      const bytes = this.#join();
      frames.push(bytes.subarray(0, length));
      this.#rest = length < bytes.length ? [bytes.subarray(length)] : [];
      this.#restBytes -= length;
    }
  }

  #join(): Buffer {
    if (this.#rest.length > 1) this.#rest = [Buffer.concat(this.#rest)];
    return this.#rest[0]!;
  }
}
