import { apiKeys } from './protocol/api-keys.ts';
import { WireReader } from './protocol/wire-reader.ts';

const firstVersionWithLifetime = 1;
const headBytes = 12;

/** Reads how long a session may live from the SaslAuthenticate reply that passes by (KIP-368). */
export class SessionLifetimeSpy {
  /** 0 when the broker did not say. The last reply counts: mechanisms with several rounds have one each. */
  lifetimeMs = 0;
  #awaited: number | undefined;

  onRequest(frame: Buffer): void {
    if (frame.length < headBytes || frame.readInt16BE(4) !== apiKeys.saslAuthenticate) return;
    // kafkajs speaks versions 0 and 1 of it; both have the old encoding.
    this.#awaited = frame.readInt16BE(6) === firstVersionWithLifetime ? frame.readInt32BE(8) : undefined;
  }

  onReply(buffer: Buffer, start: number, end: number): void {
    if (buffer.readInt32BE(start) !== this.#awaited) return;
    this.#awaited = undefined;
    const reader = new WireReader();
    reader.reset(buffer, start + 4, end);
    const errorCode = reader.int16();
    reader.nullableString(false);
    reader.bytes(false);
    if (errorCode === 0) this.lifetimeMs = Math.max(0, reader.int64AsNumber());
  }
}
