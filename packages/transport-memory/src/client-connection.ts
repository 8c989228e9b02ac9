import {
  type PartitionResult,
  type Runtime,
  type TimerHandle,
  TransportError,
} from '@sendonce/producer-core/transport';
import type { Broker } from './broker.ts';
import type { BrokerSocket, Envelope, SocketClient } from './broker-socket.ts';
import { DelayLine, type DelayRange, drawDelayMs } from './delay-line.ts';
import type { EventLog } from './events.ts';
import type { FaultPlan } from './fault-plan.ts';
import {
  type ApiName,
  type ClusterReply,
  type ClusterRequest,
  detach,
  type PartitionName,
  partitionsOf,
  requestFields,
} from './requests.ts';

export interface ClientConnectionOptions {
  readonly runtime: Runtime;
  readonly latency: DelayRange;
  readonly connectTimeoutMs: number;
  readonly events: EventLog;
  readonly planFaults: (brokerId: number, request: ClusterRequest) => FaultPlan | null;
  readonly onClosed: (connection: ClientConnection) => void;
}

interface Pending {
  readonly correlationId: number;
  readonly request: ClusterRequest;
  readonly deadlineMs: number;
  readonly resolve: (reply: ClusterReply) => void;
  readonly reject: (error: TransportError) => void;
  isWritten: boolean;
}

type State = 'opening' | 'open' | 'closed';

/**
 * The client's end of one connection (T3, T4). Requests leave in the order of the calls at the end of the event-loop turn, and
 * are answered in a later turn than the call, as over a socket. A request that times out ends the connection.
 */
export class ClientConnection implements SocketClient {
  readonly brokerId: number;
  readonly #broker: Broker;
  readonly #options: ClientConnectionOptions;
  readonly #pending = new Map<number, Pending>();
  readonly #requests: DelayLine<Envelope>;
  readonly #replies: DelayLine<{ readonly correlationId: number; readonly reply: ClusterReply }>;
  readonly #whenOpen: { readonly resolve: () => void; readonly reject: (error: TransportError) => void }[] = [];
  #state: State = 'opening';
  #socket: BrokerSocket | null = null;
  #outbox: Pending[] = [];
  #nextCorrelationId = 1;
  #isWriteScheduled = false;
  #connectTimer: TimerHandle | null;
  #deadlineTimer: TimerHandle | null = null;
  #deadlineTimerDueMs = Number.POSITIVE_INFINITY;

  constructor(broker: Broker, options: ClientConnectionOptions) {
    const { runtime, latency, connectTimeoutMs } = options;
    this.brokerId = broker.brokerId;
    this.#broker = broker;
    this.#options = options;
    this.#requests = new DelayLine(runtime, (envelope) => this.#socket?.receive(envelope));
    this.#replies = new DelayLine(runtime, ({ correlationId, reply }) => this.#settle(correlationId, reply));
    this.#connectTimer = runtime.schedule(connectTimeoutMs, () =>
      this.close(`no connection to broker ${this.brokerId} within ${connectTimeoutMs} ms`, 'CONNECT_TIMEOUT'),
    );
    const roundTripMs = 2 * drawDelayMs(latency, runtime);
    if (roundTripMs > 0) runtime.schedule(roundTripMs, () => this.#knock());
    else runtime.endOfTurn(() => this.#knock());
  }

  get isOpen(): boolean {
    return this.#state === 'open';
  }

  /** Resolves once the connection is open. */
  opened(): Promise<void> {
    if (this.#state === 'open') return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#whenOpen.push({ resolve, reject });
    });
  }

  send(
    request: ClusterRequest,
    timeoutMs: number,
    resolve: (reply: ClusterReply) => void,
    reject: (error: TransportError) => void,
  ): void {
    const deadlineMs = this.#options.runtime.monotonicMs() + timeoutMs;
    const correlationId = this.#nextCorrelationId++;
    const pending: Pending = { correlationId, request, deadlineMs, resolve, reject, isWritten: false };
    this.#pending.set(correlationId, pending);
    this.#outbox.push(pending);
    this.#armDeadline(deadlineMs);
    if (this.#state === 'open') this.#scheduleWrite();
  }

  // ---- opening

  #knock(): void {
    if (this.#state !== 'opening') return;
    const answer = this.#broker.accept(this, () => this.#knock());
    if (answer === 'refused') this.close(`broker ${this.brokerId} refused the connection`, 'CONNECTION_REFUSED');
    else if (answer !== 'hangs') this.#open(answer);
  }

  #open(socket: BrokerSocket): void {
    this.#state = 'open';
    this.#socket = socket;
    this.#options.events.tell({ type: 'connection-opened', brokerId: this.brokerId });
    this.#cancelConnectTimer();
    for (const { resolve } of this.#whenOpen.splice(0)) resolve();
    this.#write();
  }

  // ---- requests go out

  #scheduleWrite(): void {
    if (this.#isWriteScheduled) return;
    this.#isWriteScheduled = true;
    this.#options.runtime.endOfTurn(() => {
      this.#isWriteScheduled = false;
      this.#write();
    });
  }

  #write(): void {
    while (this.#state === 'open' && this.#outbox.length > 0) this.#writeOne(this.#outbox.shift()!);
  }

  #writeOne(pending: Pending): void {
    const { correlationId, request } = pending;
    const { latency, runtime, planFaults, events } = this.#options;
    if (events.hasListeners) events.tell({ type: 'request-sent', ...requestFields(this.brokerId, request) });
    else events.count('request-sent');
    const plan = planFaults(this.brokerId, request);
    pending.isWritten = true;
    if (request.api === 'produce' && request.produce.acks === 'none') {
      this.#settle(correlationId, { api: 'produce', results: request.produce.partitions.map(unknownResult) });
    }
    const delayMs = drawDelayMs(latency, runtime);
    if (plan !== null) this.#writeWithFaults(pending, plan, delayMs);
    else this.#travel({ correlationId, request, plan, isDetached: false }, delayMs);
  }

  #writeWithFaults({ correlationId, request }: Pending, plan: FaultPlan, delayMs: number): void {
    const { events } = this.#options;
    const about = requestFields(this.brokerId, request);
    if (plan.loseRequest) {
      events.record({ type: 'request-lost', ...about });
      return;
    }
    if (plan.reset === 'before') {
      events.record({ type: 'connection-reset', when: 'before', ...about });
      this.reset('the connection was reset');
      return;
    }
    if (plan.requestDelayMs > 0) events.record({ type: 'request-delayed', delayMs: plan.requestDelayMs, ...about });
    const envelope = { correlationId, request: detach(request), plan, isDetached: true };
    this.#travel(envelope, delayMs + plan.requestDelayMs);
    if (plan.duplicateAfterMs === null) return;
    events.record({ type: 'request-duplicated', afterMs: plan.duplicateAfterMs, ...about });
    const strayDelayMs = delayMs + plan.requestDelayMs + plan.duplicateAfterMs;
    this.#options.runtime.schedule(strayDelayMs, () => this.#broker.receiveStray({ ...envelope, plan: null }));
  }

  #travel(envelope: Envelope, delayMs: number): void {
    const arrivesNow = delayMs <= 0 && this.#requests.isEmpty;
    if (arrivesNow || envelope.isDetached) this.#requests.push(envelope, delayMs);
    else this.#requests.push({ ...envelope, request: detach(envelope.request), isDetached: true }, delayMs);
  }

  // ---- replies come in

  deliver({ correlationId, request, plan }: Envelope, reply: ClusterReply): void {
    const { latency, runtime } = this.#options;
    const heldMs = plan?.replyDelayMs ?? 0;
    if (heldMs > 0)
      this.#options.events.record({ type: 'reply-delayed', delayMs: heldMs, ...requestFields(this.brokerId, request) });
    const delayMs = drawDelayMs(latency, runtime) + heldMs;
    const send = (): void => {
      if (this.#state === 'open') this.#replies.push({ correlationId, reply }, delayMs);
    };
    if (plan?.holder == null) send();
    else plan.holder.hold(send);
  }

  #settle(correlationId: number, reply: ClusterReply): void {
    const pending = this.#pending.get(correlationId);
    if (pending === undefined) return;
    this.#pending.delete(correlationId);
    if (this.#pending.size === 0) this.#cancelDeadlineTimer();
    pending.resolve(reply);
  }

  // ---- deadlines: one timer for all requests

  #armDeadline(deadlineMs: number): void {
    if (deadlineMs >= this.#deadlineTimerDueMs) return;
    this.#cancelDeadlineTimer();
    const { runtime } = this.#options;
    this.#deadlineTimerDueMs = deadlineMs;
    this.#deadlineTimer = runtime.schedule(deadlineMs - runtime.monotonicMs(), () => this.#checkDeadlines());
  }

  #checkDeadlines(): void {
    this.#deadlineTimer = null;
    this.#deadlineTimerDueMs = Number.POSITIVE_INFINITY;
    const nowMs = this.#options.runtime.monotonicMs();
    const expired = [...this.#pending.values()].filter((pending) => pending.deadlineMs <= nowMs);
    const late = expired.find((pending) => pending.isWritten);
    if (late !== undefined) {
      const { api } = late.request;
      this.#options.events.record({ type: 'request-timed-out', brokerId: this.brokerId, api });
      this.close(`broker ${this.brokerId} did not answer a ${api} request in time`, 'REQUEST_TIMEOUT');
      return;
    }
    for (const pending of expired) {
      this.#pending.delete(pending.correlationId);
      this.#outbox = this.#outbox.filter((other) => other !== pending);
      pending.reject(
        lost(`the connection to broker ${this.brokerId} did not open in time`, 'REQUEST_TIMEOUT', pending),
      );
    }
    let next = Number.POSITIVE_INFINITY;
    for (const pending of this.#pending.values()) next = Math.min(next, pending.deadlineMs);
    if (next !== Number.POSITIVE_INFINITY) this.#armDeadline(next);
  }

  #cancelDeadlineTimer(): void {
    if (this.#deadlineTimer !== null) this.#options.runtime.cancel(this.#deadlineTimer);
    this.#deadlineTimer = null;
    this.#deadlineTimerDueMs = Number.POSITIVE_INFINITY;
  }

  #cancelConnectTimer(): void {
    if (this.#connectTimer !== null) this.#options.runtime.cancel(this.#connectTimer);
    this.#connectTimer = null;
  }

  // ---- the end

  reset(why: string): void {
    this.close(`${why} (broker ${this.brokerId})`, 'CONNECTION_LOST');
  }

  /** Ends the connection; every request that waits on it rejects (T4). What was written may still be worked on. */
  close(why: string, code: string): void {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    this.#cancelConnectTimer();
    this.#cancelDeadlineTimer();
    this.#replies.drop();
    this.#broker.stopKnocking(this);
    this.#options.onClosed(this);
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    this.#outbox = [];
    for (const each of pending) each.reject(lost(why, code, each));
    for (const { reject } of this.#whenOpen.splice(0)) reject(new TransportError(why, { sent: 'no', code }));
    this.#socket?.clientLeft();
  }
}

/** With acks `none` nobody answers: it is out, and that is all. */
function unknownResult({ topic, partition }: PartitionName): PartitionResult {
  return { topic, partition, errorCode: 0, baseOffset: -1n, logAppendTimeMs: -1, logStartOffset: -1n };
}

/** T2: `no` only when no byte of the request left. */
function lost(why: string, code: string, { isWritten, request }: { isWritten: boolean; request: ClusterRequest }) {
  const api: ApiName = request.api;
  const what = partitionsOf(request)
    .map(({ topic, partition }) => ` ${topic}-${partition}`)
    .join(',');
  return new TransportError(`${api}${what}: ${why}`, { sent: isWritten ? 'maybe' : 'no', code });
}
