import type { Runtime, TimerHandle } from '@sendonce/producer-core/transport';
import type { Connection } from './connection.ts';
import { Patience } from './patience.ts';

const lookEveryMs = 500;

/**
 * Watches whether the connection in use answers what it was asked. A connection can be dead without having ended: a middlebox
 * forgot it, a broker is frozen. TCP tells nobody, and the time limit of a request is far away.
 *
 * Looks twice a second while answers are owed, so that requests and answers cost nothing for it.
 */
export class SilenceWatch {
  readonly #runtime: Runtime;
  readonly #connection: () => Connection | undefined;
  readonly #onSilent: (connection: Connection, silenceMs: number) => void;
  readonly #patience = new Patience();
  #timer: TimerHandle | undefined;
  #watched: Connection | undefined;
  #seenReplies = 0;
  #seenBufferedBytes = 0;
  #silentSinceMs = 0;

  constructor(
    runtime: Runtime,
    connection: () => Connection | undefined,
    onSilent: (connection: Connection, silenceMs: number) => void,
  ) {
    this.#runtime = runtime;
    this.#connection = connection;
    this.#onSilent = onSilent;
  }

  /** An answer is owed from now on. */
  start(): void {
    if (this.#timer !== undefined) return;
    this.#watched = undefined;
    this.#look();
  }

  gaveUp(): void {
    this.#patience.gaveUp();
  }

  stop(): void {
    if (this.#timer !== undefined) this.#runtime.cancel(this.#timer);
    this.#timer = undefined;
  }

  readonly #look = (): void => {
    this.#timer = undefined;
    const connection = this.#connection();
    const nowMs = this.#runtime.monotonicMs();
    if (connection !== undefined && connection === this.#watched && !this.#hasProgress(connection)) {
      const silenceMs = nowMs - this.#silentSinceMs;
      if (connection.inFlight > 0 && silenceMs >= this.#patience.ms) this.#onSilent(connection, silenceMs);
    } else {
      if (connection !== undefined && connection === this.#watched && connection.replies !== this.#seenReplies)
        this.#patience.answered(nowMs - this.#silentSinceMs);
      this.#watched = connection;
      this.#silentSinceMs = nowMs;
    }
    this.#seenReplies = connection?.replies ?? 0;
    this.#seenBufferedBytes = connection?.bufferedBytes ?? 0;
    if (connection !== undefined && connection.inFlight > 0)
      this.#timer = this.#runtime.schedule(lookEveryMs, this.#look);
  };

  /** An answer, bytes that were waiting and have left, or a broker that said that it will not read for a while. */
  #hasProgress(connection: Connection): boolean {
    return (
      connection.replies !== this.#seenReplies ||
      connection.bufferedBytes < this.#seenBufferedBytes ||
      connection.isThrottled
    );
  }
}
