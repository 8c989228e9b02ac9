import type { TransportError } from '@sendonce/producer-core/transport';
import type { AgreedVersions } from '../protocol/api-versions.ts';
import type { WireReader } from '../protocol/wire-reader.ts';
import type { WireWriter } from '../protocol/wire-writer.ts';

/** Where and how a call writes its request. */
export interface EncodeTarget {
  readonly writer: WireWriter;
  /** The bytes to send, in order. Batches among them are the caller's own buffers. */
  readonly pieces: Uint8Array[];
  readonly clientId: Uint8Array;
  readonly versions: AgreedVersions;
}

/** One request and what becomes of its answer. Settled exactly once, by one of `answer`, `unanswered` and `fail`. */
export interface Call {
  /** False for acks=0: nothing will come back, and `unanswered` is called when the request was handed to the socket. */
  readonly expectsReply: boolean;
  /** On the runtime's monotonic clock; set by the link. */
  deadlineMs: number;
  /** Set by the connection. */
  correlationId: number;
  encode(target: EncodeTarget, correlationId: number): void;
  /** Reads the reply's body and settles. Returns `throttle_time_ms`. Throws `MalformedReplyError` before it settled. */
  answer(reader: WireReader): number;
  unanswered(): void;
  fail(error: TransportError): void;
}
