import { type Runtime, type TimerHandle, TransportError } from '@sendonce/producer-core/transport';
import type { VersionRanges } from '../protocol/api-keys.ts';
import type { Call } from './call.ts';
import { Connection } from './connection.ts';
import { addressText, type BrokerAddress, type ConnectionOpener } from './connection-opener.ts';
import { negotiateVersions } from './handshake.ts';
import { assertTransition, type LinkState } from './link-state.ts';
import { renewAfterMs, retryRenewalAfterMs } from './session-renewal.ts';
import { SilenceWatch } from './silence-watch.ts';

export interface LinkOptions {
  readonly address: BrokerAddress;
  readonly opener: ConnectionOpener;
  readonly runtime: Runtime;
  /** UTF-8. */
  readonly clientId: Uint8Array;
  readonly versions: VersionRanges;
  /** From the first packet to the agreed versions. */
  readonly openTimeoutMs: number;
  readonly usesSasl: boolean;
  /** How long before a session ends its successor is opened, at most. */
  readonly reauthenticationThresholdMs: number;
}

/** While something else is being found out. */
const renewalPauseMs = 200;

/**
 * The way to one broker: at most one connection in use, opened when the first call needs it. Calls reach the broker in the order
 * of `submit` (T3). A call that passed its deadline costs the connection (T4), and with it every call that was under way or
 * waiting: whoever made them decides what comes next and in which order.
 */
export class BrokerLink {
  readonly address: string;
  readonly #options: LinkOptions;
  #state: LinkState = { name: 'idle' };
  /** Calls that no connection took yet. The callers bound it: five produce requests, or one other request at a time. */
  #waiting: Call[] = [];
  #opening: Promise<void> | undefined;
  #abort: AbortController | undefined;
  #deadlineTimer: TimerHandle | undefined;
  #deadlineTimerAtMs = Number.POSITIVE_INFINITY;
  #renewalTimer: TimerHandle | undefined;
  readonly #silence: SilenceWatch;

  constructor(options: LinkOptions) {
    this.#options = options;
    this.#silence = new SilenceWatch(
      options.runtime,
      () => this.#connection,
      (connection, silenceMs) => this.#onSilent(connection, silenceMs),
    );
    this.address = addressText(options.address);
  }

  get isConnected(): boolean {
    return this.#connection !== undefined;
  }

  /** Sends the call as soon as there is a connection and room on it. */
  submit(call: Call, timeoutMs: number): void {
    const state = this.#state;
    if (state.name === 'closed') {
      call.fail(closedError());
      return;
    }
    const deadlineMs = this.#options.runtime.monotonicMs() + timeoutMs;
    call.deadlineMs = deadlineMs;
    if (deadlineMs < this.#deadlineTimerAtMs) this.#armDeadlineTimer(deadlineMs);
    if (
      this.#waiting.length === 0 &&
      (state.name === 'ready' || state.name === 'renewing' || state.name === 'doubting') &&
      state.connection.canSend
    ) {
      state.connection.send(call);
      this.#silence.start();
      return;
    }
    this.#waiting.push(call);
    if (state.name === 'idle') void this.#track(this.#openFirst());
  }

  /** Resolves when there is a connection; rejects with what prevented it. */
  connect(): Promise<void> {
    if (this.#state.name === 'closed') return Promise.reject(closedError());
    if (this.#connection) return Promise.resolve();
    return this.#opening ?? this.#track(this.#openFirst());
  }

  /** For good. Calls under way and waiting ones fail with `error`. */
  close(error: TransportError = closedError()): void {
    if (this.#state.name === 'closed') return;
    const old = this.#state;
    this.#go({ name: 'closed' });
    const { runtime } = this.#options;
    if (this.#deadlineTimer !== undefined) runtime.cancel(this.#deadlineTimer);
    if (this.#renewalTimer !== undefined) runtime.cancel(this.#renewalTimer);
    this.#silence.stop();
    this.#abort?.abort(error);
    if ('fresh' in old) old.fresh.close(error);
    if ('connection' in old) old.connection.close(maybeSent(error));
    this.#failWaiting(error);
  }

  get #connection(): Connection | undefined {
    return 'connection' in this.#state ? this.#state.connection : undefined;
  }

  #go(to: LinkState): void {
    assertTransition(this.#state, to);
    this.#state = to;
  }

  /** The connection that is being opened, for whoever asks meanwhile. */
  #track(opening: Promise<void>): Promise<void> {
    const tracked = opening.finally(() => {
      if (this.#opening === tracked) this.#opening = undefined;
    });
    tracked.catch(() => {}); // the waiting calls are told, and there may be nobody else
    this.#opening = tracked;
    return tracked;
  }

  async #openFirst(): Promise<void> {
    this.#go({ name: 'opening' });
    try {
      const connection = await this.#open();
      this.#scheduleRenewal(connection);
      this.#use(connection);
    } catch (error) {
      this.#onOpenFailed(error as TransportError);
      throw error;
    }
  }

  #onOpenFailed(error: TransportError): void {
    if (this.#state.name !== 'opening') return; // closed meanwhile, and everybody was told
    this.#go({ name: 'idle' });
    this.#failWaiting(error);
  }

  #use(connection: Connection): void {
    this.#go({ name: 'ready', connection });
    this.#pump();
  }

  /** A connection on which the versions are agreed. */
  async #open(): Promise<Connection> {
    const { address, opener, runtime, openTimeoutMs, versions } = this.#options;
    const abort = new AbortController();
    this.#abort = abort;
    const timeout = new TransportError(
      `${this.address} did not answer within ${openTimeoutMs} ms while the connection was being opened.`,
      {
        sent: 'no',
        code: 'CONNECTION_FAILED',
      },
    );
    const timer = runtime.schedule(openTimeoutMs, () => abort.abort(timeout));
    let connection: Connection | undefined;
    try {
      const opened = await opener.open(address, abort.signal);
      connection = this.#wrap(opened);
      const built = connection;
      const onAbort = () => built.close(abort.signal.reason as TransportError);
      if (abort.signal.aborted) onAbort();
      else abort.signal.addEventListener('abort', onAbort, { once: true });
      connection.versions = await negotiateVersions(connection, this.address, versions);
      abort.signal.removeEventListener('abort', onAbort);
      abort.signal.throwIfAborted();
      if (connection.isClosed)
        throw new TransportError(`${this.address} closed the connection at once.`, {
          sent: 'no',
          code: 'CONNECTION_LOST',
        });
      return connection;
    } catch (error) {
      connection?.close(error as TransportError);
      throw notSent(error as TransportError);
    } finally {
      runtime.cancel(timer);
      if (this.#abort === abort) this.#abort = undefined;
    }
  }

  #wrap(opened: Awaited<ReturnType<ConnectionOpener['open']>>): Connection {
    const { clientId, runtime, usesSasl } = this.#options;
    const connection: Connection = new Connection({
      opened,
      address: this.address,
      clientId,
      runtime,
      usesSasl,
      onClosed: (error) => this.#onClosed(connection, error),
      onProgress: () => this.#onProgress(connection),
    });
    return connection;
  }

  #onProgress(connection: Connection): void {
    if (this.#connection !== connection) return;
    if (this.#state.name === 'draining') this.#finishDraining();
    else if (this.#waiting.length > 0) this.#pump();
  }

  #pump(): void {
    const connection = this.#connection;
    if (!connection || this.#state.name === 'draining') return;
    let sent = 0;
    while (sent < this.#waiting.length && connection.canSend) connection.send(this.#waiting[sent++]!);
    this.#waiting.splice(0, sent);
    if (sent > 0) this.#silence.start();
  }

  #onClosed(connection: Connection, error: TransportError): void {
    const state = this.#state;
    if (state.name === 'draining' && state.fresh === connection) {
      // Lost before it was used: the old one serves on, and another successor is tried once, since the session's end is near.
      this.#go({ name: 'ready', connection: state.connection });
      const nowMs = this.#options.runtime.monotonicMs();
      this.#cancelRenewal();
      this.#renewalTimer = this.#options.runtime.schedule(0, () => this.#renew(nowMs));
      this.#pump();
      return;
    }
    if (!('connection' in state) || state.connection !== connection) return;
    switch (state.name) {
      case 'ready':
        this.#cancelRenewal();
        this.#go({ name: 'idle' });
        break;
      case 'renewing':
      case 'doubting':
        this.#go({ name: 'opening' });
        break;
      case 'draining':
        this.#go({ name: 'ready', connection: state.fresh });
        break;
    }
    this.#failWaiting(notSent(error));
  }

  #failWaiting(error: TransportError): void {
    for (const call of this.#waiting.splice(0)) call.fail(error);
  }

  // ---- deadlines

  #armDeadlineTimer(atMs: number): void {
    const { runtime } = this.#options;
    if (this.#deadlineTimer !== undefined) runtime.cancel(this.#deadlineTimer);
    this.#deadlineTimerAtMs = atMs;
    this.#deadlineTimer = runtime.schedule(Math.max(0, atMs - runtime.monotonicMs()), () => this.#onDeadline());
  }

  /** One timer for all calls: it may ring for one that was answered long ago, and is then set for the earliest of the others. */
  #onDeadline(): void {
    this.#deadlineTimer = undefined;
    this.#deadlineTimerAtMs = Number.POSITIVE_INFINITY;
    const nowMs = this.#options.runtime.monotonicMs();
    const connection = this.#connection;
    if (connection && connection.earliestDeadlineMs <= nowMs) this.#dropForTimeout(connection, nowMs);
    const overdue = this.#waiting.filter(({ deadlineMs }) => deadlineMs <= nowMs);
    if (overdue.length > 0) {
      this.#waiting = this.#waiting.filter(({ deadlineMs }) => deadlineMs > nowMs);
      for (const call of overdue) call.fail(this.#timeoutError('no'));
    }
    let earliestMs = this.#connection?.earliestDeadlineMs ?? Number.POSITIVE_INFINITY;
    for (const { deadlineMs } of this.#waiting) earliestMs = Math.min(earliestMs, deadlineMs);
    if (earliestMs < this.#deadlineTimerAtMs) this.#armDeadlineTimer(earliestMs);
  }

  #dropForTimeout(connection: Connection, nowMs: number): void {
    const bystander = new TransportError(
      `The connection to ${this.address} was dropped because another request on it got no answer in time.`,
      {
        sent: 'maybe',
        code: 'CONNECTION_LOST',
      },
    );
    connection.close(bystander, ({ deadlineMs }) => (deadlineMs <= nowMs ? this.#timeoutError('maybe') : bystander));
  }

  #timeoutError(sent: 'no' | 'maybe'): TransportError {
    const what = sent === 'no' ? 'could not be sent' : 'was not answered';
    return new TransportError(`A request to ${this.address} ${what} within its time limit.`, {
      sent,
      code: 'REQUEST_TIMEOUT',
    });
  }

  // ---- connections that say nothing

  /** Another connection tells whether this one is dead or its broker busy. */
  #onSilent(connection: Connection, silenceMs: number): void {
    if (this.#state.name !== 'ready') return;
    this.#go({ name: 'doubting', connection });
    void this.#track(this.#openBeside(connection, connection.replies, silenceMs));
  }

  async #openBeside(doubted: Connection, replies: number, silenceMs: number): Promise<void> {
    let fresh: Connection;
    try {
      fresh = await this.#open();
    } catch (error) {
      this.#onBesideFailed(doubted, replies, silenceMs, error as TransportError);
      throw error;
    }
    if (this.#state.name === 'opening') {
      // The old connection ended while we waited.
      this.#scheduleRenewal(fresh);
      this.#use(fresh);
    } else if (this.#state.name !== 'doubting' || doubted.replies !== replies) {
      fresh.close(closedError());
      if (this.#state.name === 'doubting') this.#use(doubted);
    } else {
      this.#silence.gaveUp();
      this.#scheduleRenewal(fresh);
      this.#go({ name: 'ready', connection: fresh });
      const error = this.#silentError(silenceMs, 'while it answered on another connection');
      doubted.close(error);
      this.#failWaiting(notSent(error));
    }
  }

  /** A broker that answers neither here nor there: its partitions may have another leader by now, so the callers are told. */
  #onBesideFailed(doubted: Connection, replies: number, silenceMs: number, error: TransportError): void {
    if (this.#state.name !== 'doubting') {
      this.#onOpenFailed(error);
      return;
    }
    this.#use(doubted);
    if (doubted.replies !== replies) return;
    this.#silence.gaveUp();
    // Refused credentials say nothing about a session that was let in before.
    if (!error.retriable) return;
    doubted.close(this.#silentError(silenceMs, `and let no other connection be opened (${error.message})`));
  }

  #silentError(silenceMs: number, how: string): TransportError {
    return new TransportError(
      `The connection to ${this.address} was dropped: the broker said nothing on it for ${Math.round(silenceMs)} ms, ${how}.`,
      { sent: 'maybe', code: 'CONNECTION_LOST' },
    );
  }

  // ---- sessions that end (KIP-368)

  #scheduleRenewal({ sessionLifetimeMs }: Connection): void {
    this.#cancelRenewal();
    if (sessionLifetimeMs <= 0) return;
    const { runtime, reauthenticationThresholdMs } = this.#options;
    const endsAtMs = runtime.monotonicMs() + sessionLifetimeMs;
    const delayMs = renewAfterMs(sessionLifetimeMs, reauthenticationThresholdMs);
    this.#renewalTimer = runtime.schedule(delayMs, () => this.#renew(endsAtMs));
  }

  #cancelRenewal(): void {
    if (this.#renewalTimer !== undefined) this.#options.runtime.cancel(this.#renewalTimer);
    this.#renewalTimer = undefined;
  }

  #renew(endsAtMs: number): void {
    this.#renewalTimer = undefined;
    const state = this.#state;
    if (state.name === 'doubting') {
      // Whichever connection stays will be renewed: this one soon, or the other in its own time.
      this.#renewalTimer = this.#options.runtime.schedule(renewalPauseMs, () => this.#renew(endsAtMs));
      return;
    }
    if (state.name !== 'ready') return;
    const { connection } = state;
    if (connection.replies <= 1 && connection.inFlight === 0) {
      // Nobody used this session; the next call opens another.
      connection.close(closedError());
      return;
    }
    this.#go({ name: 'renewing', connection });
    void this.#track(this.#openSuccessor(endsAtMs));
  }

  async #openSuccessor(endsAtMs: number): Promise<void> {
    let fresh: Connection;
    try {
      fresh = await this.#open();
    } catch (error) {
      this.#onRenewalFailed(error as TransportError, endsAtMs);
      throw error;
    }
    this.#scheduleRenewal(fresh);
    // `opening`: the old connection was lost while we waited.
    if (this.#state.name === 'opening') this.#use(fresh);
    else if (this.#state.name === 'renewing') this.#startDraining(this.#state.connection, fresh);
    else fresh.close(closedError());
  }

  #onRenewalFailed(error: TransportError, endsAtMs: number): void {
    const { runtime } = this.#options;
    if (this.#state.name !== 'renewing') {
      this.#onOpenFailed(error);
      return;
    }
    this.#go({ name: 'ready', connection: this.#state.connection });
    const delayMs = retryRenewalAfterMs(endsAtMs - runtime.monotonicMs());
    // Past its end the broker closes the session itself, and the next call opens another or learns why not.
    if (delayMs !== undefined) this.#renewalTimer = runtime.schedule(delayMs, () => this.#renew(endsAtMs));
  }

  #startDraining(connection: Connection, fresh: Connection): void {
    this.#go({ name: 'draining', connection, fresh });
    this.#finishDraining();
  }

  #finishDraining(): void {
    const state = this.#state;
    if (state.name !== 'draining' || state.connection.inFlight > 0) return;
    this.#use(state.fresh);
    state.connection.close(closedError());
  }
}

export function closedError(): TransportError {
  return new TransportError('The transport is closed.', { sent: 'no', code: 'TRANSPORT_CLOSED', retriable: false });
}

function withSent(error: TransportError, sent: 'no' | 'maybe'): TransportError {
  if (error.sent === sent) return error;
  return new TransportError(error.message, {
    sent,
    code: error.code,
    retriable: error.retriable,
    cause: error.cause ?? error,
  });
}

const notSent = (error: TransportError) => withSent(error, 'no');
const maybeSent = (error: TransportError) => withSent(error, 'maybe');
