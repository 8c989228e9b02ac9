import type { Broker } from './broker.ts';
import type { FaultPlan } from './fault-plan.ts';
import { type ClusterReply, type ClusterRequest, detach, requestFields } from './requests.ts';

/** A request as it travels. */
export interface Envelope {
  /** Ties the reply to its request. */
  readonly correlationId: number;
  readonly request: ClusterRequest;
  readonly plan: FaultPlan | null;
  /** Whether the request's bytes are a copy of the sender's. */
  readonly isDetached: boolean;
}

/** The client's end, as far as the broker sees it. */
export interface SocketClient {
  deliver(envelope: Envelope, reply: ClusterReply): void;
  /** The broker cut the connection. */
  reset(why: string): void;
}

/**
 * The broker's end of a connection. One request at a time is worked on, in the order of arrival, and the next one only after
 * its reply, as Kafka does. A client that goes away takes nothing back: what it wrote is still worked on, maybe much later
 * when the broker was frozen, and nobody hears the answer.
 */
export class BrokerSocket {
  readonly #broker: Broker;
  #client: SocketClient | null;
  #inbox: Envelope[] = [];
  #isBusy = false;
  #isDead = false;
  /** The process that accepted the connection. The next one knows nothing of it. */
  readonly #life: number;

  constructor(broker: Broker, client: SocketClient | null) {
    this.#broker = broker;
    this.#client = client;
    this.#life = broker.life;
  }

  receive(envelope: Envelope): void {
    if (this.#isDead || this.#life !== this.#broker.life) return;
    const mustWait = this.#isBusy || !this.#broker.isRunning;
    const isReady = !mustWait || envelope.isDetached;
    this.#inbox.push(isReady ? envelope : { ...envelope, request: detach(envelope.request), isDetached: true });
    if (!mustWait) this.work();
  }

  /** Works through what has arrived. */
  work(): void {
    while (this.#inbox.length > 0 && !this.#isBusy && !this.#isDead && this.#broker.isRunning) {
      const envelope = this.#inbox[0]!;
      this.#isBusy = true;
      const missingCodecs = this.#broker.codecs.missingFor(envelope.request);
      if (missingCodecs.length > 0) {
        void this.#loadCodecs(missingCodecs);
        return;
      }
      this.#inbox.shift();
      let isSynchronous = true;
      this.#broker.handle(envelope, (reply) => {
        this.#isBusy = false;
        this.#answer(envelope, reply);
        if (!isSynchronous) this.work();
      });
      isSynchronous = false;
    }
    this.#leaveWhenDone();
  }

  /** Looking into the first batch of a codec has to wait for it. What the sender may change meanwhile is copied. */
  async #loadCodecs(codecIds: readonly number[]): Promise<void> {
    const first = this.#inbox[0]!;
    if (!first.isDetached) this.#inbox[0] = { ...first, request: detach(first.request), isDetached: true };
    await Promise.all(codecIds.map((codecId) => this.#broker.codecs.load(codecId)));
    this.#isBusy = false;
    this.work();
  }

  /** The client closed its end. */
  clientLeft(): void {
    this.#client = null;
    this.#leaveWhenDone();
  }

  /** The process died: what it had not worked on is gone, and the client sees the connection break. */
  die(why: string): void {
    this.#isDead = true;
    this.#inbox = [];
    const client = this.#client;
    this.#client = null;
    client?.reset(why);
  }

  #answer(envelope: Envelope, reply: ClusterReply): void {
    const { request, plan } = envelope;
    const client = this.#client;
    if (client === null) return;
    if (plan?.reset === 'after') {
      this.#broker.events.record({
        type: 'connection-reset',
        when: 'after',
        ...requestFields(this.#broker.brokerId, request),
      });
      client.reset('the connection was reset before the answer came');
      return;
    }
    if (plan?.loseReply) {
      this.#broker.events.record({ type: 'reply-lost', ...requestFields(this.#broker.brokerId, request) });
      return;
    }
    if (request.api === 'produce' && request.produce.acks === 'none') {
      // There is no reply that could carry an error: Kafka cuts the connection instead.
      const failed = reply.api !== 'produce' || reply.results.some((result) => result.errorCode !== 0);
      if (failed) client.reset('a batch with acks "none" was refused');
      return;
    }
    client.deliver(envelope, reply);
  }

  #leaveWhenDone(): void {
    if (this.#client === null && this.#inbox.length === 0 && !this.#isBusy) this.#broker.forget(this);
  }
}
