import {
  type ClusterMetadata,
  type PartitionResult,
  type ProduceRequest,
  protocolErrorCodes,
} from '@sendonce/producer-core/transport';
import { BrokerSocket, type Envelope, type SocketClient } from './broker-socket.ts';
import type { Codecs } from './codecs.ts';
import type { Controller } from './controller.ts';
import type { EventLog } from './events.ts';
import type { FaultPlan, InjectedAnswer } from './fault-plan.ts';
import type { BrokerProcess } from './partition-member.ts';
import { ProducerIdAllocator } from './producer-ids.ts';
import type { ClusterReply, ClusterRequest, PartitionName } from './requests.ts';
import { requestFields } from './requests.ts';

export type BrokerState = 'running' | 'paused' | 'killed';

const { UNKNOWN_TOPIC_ID, UNKNOWN_TOPIC_OR_PARTITION } = protocolErrorCodes;

/** One broker: a process that can be killed, frozen and started again, its connections, and what it answers. */
export class Broker implements BrokerProcess {
  readonly brokerId: number;
  readonly events: EventLog;
  readonly codecs: Codecs;
  readonly #controller: Controller;
  readonly #producerIds: ProducerIdAllocator;
  readonly #sockets = new Set<BrokerSocket>();
  /** Clients that connect to a frozen broker: the kernel lets them in, and nobody speaks to them. */
  readonly #knocking = new Map<SocketClient, () => void>();
  #state: BrokerState = 'running';
  #life = 0;

  constructor(brokerId: number, controller: Controller, codecs: Codecs, events: EventLog) {
    this.brokerId = brokerId;
    this.codecs = codecs;
    this.events = events;
    this.#controller = controller;
    this.#producerIds = new ProducerIdAllocator(brokerId, controller.producerIds);
  }

  get state(): BrokerState {
    return this.#state;
  }

  get isRunning(): boolean {
    return this.#state === 'running';
  }

  /** Counts the processes that this broker has been. */
  get life(): number {
    return this.#life;
  }

  // ---- the process

  /** SIGKILL: its connections break, what it had not worked on is gone, its logs stay. */
  kill(): void {
    if (this.#state === 'killed') return;
    this.events.record({ type: 'broker-killed', brokerId: this.brokerId });
    this.#end('was killed');
    this.#controller.brokerKilled(this.brokerId);
  }

  /** Starts a killed broker; stops a running one cleanly first, its partitions moving to other leaders before. */
  restart(): void {
    const cleanStop = this.#state === 'running';
    if (cleanStop) {
      this.#controller.brokerStopping(this.brokerId);
      this.events.record({ type: 'broker-stopped', brokerId: this.brokerId });
    }
    if (this.#state !== 'killed') this.#end('was stopped');
    for (const member of this.#controller.membersOf(this.brokerId)) member.replica.restart({ cleanStop });
    this.#producerIds.restart();
    this.#state = 'running';
    this.events.record({ type: 'broker-started', brokerId: this.brokerId });
    this.#controller.brokerStarted(this.brokerId);
  }

  /** SIGSTOP: nothing breaks, nothing is answered, and what clients write waits in the sockets. */
  pause(): void {
    if (this.#state !== 'running') return;
    this.#state = 'paused';
    this.events.record({ type: 'broker-paused', brokerId: this.brokerId });
    this.#controller.brokerPaused(this.brokerId);
  }

  /**
   * SIGCONT. It first works through what waits in its sockets, believing what it believed when it was frozen, and hears of
   * other leaders only then.
   */
  resume(): void {
    if (this.#state !== 'paused') return;
    this.#state = 'running';
    this.events.record({ type: 'broker-resumed', brokerId: this.brokerId });
    for (const socket of [...this.#sockets]) socket.work();
    this.#controller.brokerResumed(this.brokerId);
    const knocking = [...this.#knocking.values()];
    this.#knocking.clear();
    for (const knock of knocking) knock();
  }

  #end(how: string): void {
    this.#state = 'killed';
    this.#life++;
    for (const member of this.#controller.membersOf(this.brokerId)) member.die();
    const sockets = [...this.#sockets];
    this.#sockets.clear();
    for (const socket of sockets) socket.die(`the broker ${how}`);
    const knocking = [...this.#knocking.values()];
    this.#knocking.clear();
    for (const knock of knocking) knock();
  }

  // ---- connections

  /** `hangs`: `knock` is called when asking again makes sense. */
  accept(client: SocketClient, knock: () => void): BrokerSocket | 'refused' | 'hangs' {
    if (this.#state === 'killed') return 'refused';
    if (this.#state === 'paused') {
      this.#knocking.set(client, knock);
      return 'hangs';
    }
    const socket = new BrokerSocket(this, client);
    this.#sockets.add(socket);
    return socket;
  }

  stopKnocking(client: SocketClient): void {
    this.#knocking.delete(client);
  }

  /** A request that arrives by itself, on no client's connection: a copy that the network made. */
  receiveStray(envelope: Envelope): void {
    if (this.#state === 'killed') return;
    const socket = new BrokerSocket(this, null);
    this.#sockets.add(socket);
    socket.receive(envelope);
  }

  forget(socket: BrokerSocket): void {
    this.#sockets.delete(socket);
  }

  // ---- requests

  /** Works on one request. `done` is called once; never when the process dies over it. */
  handle({ request, plan }: Envelope, done: (reply: ClusterReply) => void): void {
    if (plan?.kill === 'before') {
      this.kill();
      return;
    }
    const finish = (reply: ClusterReply): void => {
      if (plan?.kill === 'after') this.kill();
      else done(reply);
    };
    const failure = plan?.answers.find(({ where }) => where === null);
    if (failure !== undefined && request.api !== 'produce') {
      this.#reportInjected(failure, request);
      finish({ api: 'error', errorCode: failure.errorCode });
    } else if (request.api === 'produce') {
      this.#produce(request.produce, plan, (results) => finish({ api: 'produce', results }));
    } else if (request.api === 'initProducerId') {
      finish(this.#initProducerId());
    } else {
      finish({ api: 'metadata', metadata: this.#metadata(request, plan) });
    }
  }

  #initProducerId(): ClusterReply {
    const producerId = this.#producerIds.next();
    if (producerId === null) return { api: 'error', errorCode: protocolErrorCodes.COORDINATOR_LOAD_IN_PROGRESS };
    return { api: 'initProducerId', identity: { producerId, epoch: 0 } };
  }

  #metadata(request: Extract<ClusterRequest, { api: 'metadata' }>, plan: FaultPlan | null): ClusterMetadata {
    const { brokers, topics } = this.#controller.metadata(request.topics);
    return {
      brokers,
      topics: topics.map((found) => {
        const injected = plan === null ? undefined : answerFor(plan, found.topic, null);
        if (injected === undefined) return found;
        this.#reportInjected(injected, request);
        return { topic: found.topic, errorCode: injected.errorCode, partitions: [] };
      }),
    };
  }

  #produce(
    { partitions, acks, timeoutMs }: ProduceRequest,
    plan: FaultPlan | null,
    done: (results: PartitionResult[]) => void,
  ): void {
    const results: PartitionResult[] = new Array(partitions.length);
    let left = partitions.length;
    if (left === 0) done(results);
    for (let index = 0; index < partitions.length; index++) {
      const { topic, topicId, partition, batch } = partitions[index]!;
      const settle = (result: PartitionResult): void => {
        results[index] = result;
        if (--left === 0) done(results);
      };
      const injected = plan === null ? undefined : answerFor(plan, topic, partition);
      if (injected?.when === 'before') {
        settle(this.#inject(injected, { topic, partition }));
        continue;
      }
      const answer =
        injected === undefined
          ? settle
          : // What was refused was not stored: saying that it was, would be a lie that no client can see through.
            (result: PartitionResult) =>
              settle(result.errorCode === 0 ? this.#inject(injected, { topic, partition }) : result);
      const found = this.#controller.partition(topic, partition);
      if (this.#controller.isOtherTopic(topic, topicId)) {
        answer(refusedResult({ topic, partition }, UNKNOWN_TOPIC_ID));
      } else if (found === undefined) answer(refusedResult({ topic, partition }, UNKNOWN_TOPIC_OR_PARTITION));
      else found.produce(this.brokerId, batch, acks, timeoutMs, answer);
    }
  }

  #inject(injected: InjectedAnswer, where: PartitionName): PartitionResult {
    const { errorCode, when } = injected;
    this.events.record({
      type: 'error-injected',
      errorCode,
      when,
      brokerId: this.brokerId,
      api: 'produce',
      partitions: [where],
    });
    return { ...refusedResult(where, errorCode), logStartOffset: injected.logStartOffset };
  }

  #reportInjected({ errorCode, when }: InjectedAnswer, request: Envelope['request']): void {
    this.events.record({ type: 'error-injected', errorCode, when, ...requestFields(this.brokerId, request) });
  }
}

function answerFor(plan: FaultPlan, topic: string, partition: number | null): InjectedAnswer | undefined {
  return plan.answers.find(({ where }) => where?.topic === topic && where.partition === partition);
}

function refusedResult({ topic, partition }: PartitionName, errorCode: number): PartitionResult {
  return { topic, partition, errorCode, baseOffset: -1n, logAppendTimeMs: -1, logStartOffset: -1n };
}
