import { type Runtime, type TimerHandle, TransportError } from '@sendonce/producer-core/transport';
import type { AgreedVersions } from '../protocol/api-versions.ts';
import { WireReader } from '../protocol/wire-reader.ts';
import { WireWriter } from '../protocol/wire-writer.ts';
import type { Call, EncodeTarget } from './call.ts';
import type { OpenConnection } from './connection-opener.ts';
import { FrameReader } from './frame-reader.ts';

/**
 * Bytes that may wait in the socket before further requests wait outside of it, where they can still be refused as not sent.
 * A little more than one request of the default `maxRequestSize`.
 */
const maxBufferedBytes = 2 * 1024 * 1024;

export interface ConnectionOptions {
  readonly opened: OpenConnection;
  /** For messages. */
  readonly address: string;
  readonly clientId: Uint8Array;
  readonly runtime: Runtime;
  readonly usesSasl: boolean;
  /** Nothing is sent or answered after this; calls in flight have failed. Called once, never from inside `send`. */
  readonly onClosed: (error: TransportError) => void;
  /** A reply came in, or a reason to wait has gone. */
  readonly onProgress: () => void;
}

/** Requests out, replies in, in one order (T3). Knows no retry, no queue and no time limit; those are the link's. */
export class Connection {
  readonly #options: ConnectionOptions;
  readonly #frames = new FrameReader((buffer, start, end) => this.#onFrame(buffer, start, end));
  readonly #reader = new WireReader();
  readonly #inFlight: Call[] = [];
  #target: EncodeTarget;
  /** Calls that expect no reply, until the system has taken their bytes. */
  #unanswered: Call[] = [];
  #newUnanswered = 0;
  #correlationId = 0;
  #isFlushScheduled = false;
  #isThrottled = false;
  #throttleTimer: TimerHandle | undefined;
  #closedWith: TransportError | undefined;
  #replies = 0;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    const { clientId, opened } = options;
    this.#target = {
      writer: new WireWriter(),
      pieces: [],
      clientId,
      versions: { produce: 0, metadata: 0, initProducerId: 0 },
    };
    const { socket } = opened;
    let socketError: Error | undefined;
    socket.on('error', (error) => {
      socketError = error;
    });
    socket.on('close', () => this.close(this.#lost(socketError)));
    socket.on('drain', options.onProgress);
    opened.onData((chunk) => this.#onData(chunk));
    if (socket.destroyed) process.nextTick(() => this.close(this.#lost(undefined)));
  }

  /** What was agreed on after the first request. */
  set versions(versions: AgreedVersions) {
    this.#target = { ...this.#target, versions };
  }

  get canSend(): boolean {
    return !this.#isThrottled && !this.#closedWith && this.#options.opened.socket.writableLength < maxBufferedBytes;
  }

  get isClosed(): boolean {
    return this.#closedWith !== undefined;
  }

  get inFlight(): number {
    return this.#inFlight.length;
  }

  get replies(): number {
    return this.#replies;
  }

  get isThrottled(): boolean {
    return this.#isThrottled;
  }

  /** Bytes that the system has not taken yet. */
  get bufferedBytes(): number {
    return this.#options.opened.socket.writableLength;
  }

  /** Of the session, as the broker told when it began; 0 when it did not. */
  get sessionLifetimeMs(): number {
    return this.#options.opened.sessionLifetimeMs;
  }

  /** The earliest deadline among the calls in flight; Infinity when there is none. */
  get earliestDeadlineMs(): number {
    let earliest = Number.POSITIVE_INFINITY;
    for (const { deadlineMs } of this.#inFlight) earliest = Math.min(earliest, deadlineMs);
    return earliest;
  }

  send(call: Call): void {
    if (this.#closedWith) {
      call.fail(this.#closedWith);
      return;
    }
    const correlationId = this.#correlationId;
    this.#correlationId = (correlationId + 1) & 0x7fff_ffff;
    call.correlationId = correlationId;
    call.encode(this.#target, correlationId);
    if (call.expectsReply) this.#inFlight.push(call);
    else {
      this.#unanswered.push(call);
      this.#newUnanswered++;
    }
    if (this.#isFlushScheduled) return;
    this.#isFlushScheduled = true;
    // What is sent in one turn leaves in one system call.
    process.nextTick(this.#flush);
  }

  /** Ends the connection: every call in flight fails with `error`, or with what `errorOf` says about it. */
  close(error: TransportError, errorOf: (call: Call) => TransportError = () => error): void {
    if (this.#closedWith) return;
    this.#closedWith = error;
    if (this.#throttleTimer !== undefined) this.#options.runtime.cancel(this.#throttleTimer);
    this.#options.opened.socket.destroy();
    for (const call of this.#inFlight.splice(0)) call.fail(errorOf(call));
    for (const call of this.#unanswered.splice(0)) call.fail(errorOf(call));
    this.#options.onClosed(error);
  }

  readonly #flush = (): void => {
    this.#isFlushScheduled = false;
    if (this.#closedWith) return;
    const { socket } = this.#options.opened;
    const { pieces } = this.#target;
    const last = pieces.pop()!;
    if (pieces.length > 0) socket.cork();
    for (const piece of pieces) socket.write(piece);
    if (this.#newUnanswered === 0) socket.write(last);
    else socket.write(last, this.#onHandedOver(this.#newUnanswered));
    this.#newUnanswered = 0;
    if (pieces.length > 0) socket.uncork();
    pieces.length = 0;
  };

  /** A call without a reply is over when the system has its bytes: the caller may use the batch's memory again after that. */
  #onHandedOver(count: number): (error?: Error | null) => void {
    return (error) => {
      // After a failure the socket's 'close' event follows, which tells the calls.
      if (!error) for (const call of this.#unanswered.splice(0, count)) call.unanswered();
    };
  }

  #onData(chunk: Buffer): void {
    if (this.#closedWith) return;
    try {
      this.#frames.push(chunk);
    } catch (error) {
      this.close(this.#malformed(error as Error));
      return;
    }
    if (!this.#closedWith) this.#options.onProgress();
  }

  #onFrame(buffer: Buffer, start: number, end: number): void {
    if (this.#closedWith) return;
    const call = this.#inFlight[0];
    const correlationId = buffer.readInt32BE(start);
    if (call === undefined || call.correlationId !== correlationId) {
      throw new Error(
        `a reply to request ${correlationId}, expected was ${call === undefined ? 'none' : call.correlationId}`,
      );
    }
    this.#reader.reset(buffer, start + 4, end);
    const throttleTimeMs = call.answer(this.#reader);
    this.#inFlight.shift();
    this.#replies++;
    if (throttleTimeMs > 0) this.#throttle(throttleTimeMs);
  }

  /** The broker reads nothing from this connection for that long (KIP-219): sending would only fill its buffers and ours. */
  #throttle(ms: number): void {
    const { runtime, onProgress } = this.#options;
    if (this.#throttleTimer !== undefined) runtime.cancel(this.#throttleTimer);
    this.#isThrottled = true;
    this.#throttleTimer = runtime.schedule(ms, () => {
      this.#isThrottled = false;
      this.#throttleTimer = undefined;
      onProgress();
    });
  }

  #lost(cause: Error | undefined): TransportError {
    const { address, usesSasl } = this.#options;
    // The reply to ApiVersions is the one that a broker gives to everybody.
    const isRefusal = cause === undefined && this.#inFlight.length > 0 && this.#replies <= 1 && !usesSasl;
    const how = cause ? `was lost (${cause.message})` : 'was closed by the broker';
    const hint = isRefusal
      ? '. It closed it at the first request: this listener may require SASL, and no `sasl` is set'
      : '';
    return new TransportError(`The connection to ${address} ${how}${hint}.`, {
      sent: 'maybe',
      code: 'CONNECTION_LOST',
      ...(cause ? { cause } : {}),
    });
  }

  #malformed(cause: Error): TransportError {
    return new TransportError(
      `${this.#options.address} sent what is not a reply of a Kafka broker: ${cause.message}. The connection was dropped.`,
      {
        sent: 'maybe',
        code: 'MALFORMED_REPLY',
        cause,
      },
    );
  }
}
