import { gunzipSync, gzipSync } from 'node:zlib';
import {
  type CompressionCodec,
  combineHooks,
  createProducer,
  DeliveryError,
  type Producer,
  type ProducerEvent,
  type ProducerRecord,
  type RecordMetadata,
  SendBatchError,
} from '@sendonce/producer-core';
import { protocolErrorName, type Runtime, type Transport } from '@sendonce/producer-core/transport';
import type { LedgerEntry, Outcome, Session } from './ledger.ts';
import type { BatchNumbers } from './log-reader.ts';
import type { ProducerPlan } from './plan.ts';
import { SimulatedProcess } from './simulated-process.ts';
import { showValue } from './trace.ts';
import { WireMonitor, type WireObserver } from './wire-monitor.ts';
import type { World } from './world.ts';

/** One producer in one process, from its creation to its end, and what its callers heard. */
export class ProducerSession {
  readonly session: Session;
  readonly process: SimulatedProcess;
  readonly plan: ProducerPlan;
  readonly producer: Producer;
  readonly #world: World;
  readonly #transport: Transport;

  private constructor(
    world: World,
    plan: ProducerPlan,
    session: Session,
    process: SimulatedProcess,
    transport: Transport,
    producer: Producer,
  ) {
    this.#world = world;
    this.plan = plan;
    this.session = session;
    this.process = process;
    this.#transport = transport;
    this.producer = producer;
  }

  /** A producer that is ready; null when the cluster did not let it come up in time. */
  static async open(world: World, plan: ProducerPlan): Promise<ProducerSession | null> {
    const { coverage, ledger, runtime, trace } = world;
    const session = ledger.openSession(plan.idempotence, settleWithinMs(plan));
    const name = `session ${session.id}`;
    const process = new SimulatedProcess(runtime.fork(name));
    const transport = world.cluster.transport({
      connectTimeoutMs: plan.requestTimeoutMs,
      requestTimeoutMs: plan.requestTimeoutMs,
    });
    const monitor = new WireMonitor({
      idempotence: plan.idempotence,
      maxInFlight: plan.maxInFlight,
      report: (violation) => world.report({ ...violation, message: `${name}: ${violation.message}` }),
      observer: wireObserver(world, name),
    });
    const { compresses, firstEpoch, ...options } = plan;
    try {
      const producer = await createProducer({
        ...options,
        clientId: name,
        transport: process.wrap(monitor.wrap(withFirstEpoch(transport, firstEpoch, world))),
        runtime: process.runtime,
        producerIdExpirationMs: world.plan.cluster.producerIdExpirationMs,
        compression: compresses ? slowGzip(process.runtime) : 'none',
        logger: quiet,
        hooks: combineHooks({ onEvent: (event) => noteEvent(world, session, event) }, world.hooksFor(session)),
      });
      trace.note(name, () => `ready, ${JSON.stringify(plan)}`);
      return new ProducerSession(world, plan, session, process, transport, producer);
    } catch (error) {
      coverage.add('producer: did not come up');
      trace.note(name, () => `did not come up: ${String(error)}`);
      await transport.close();
      return null;
    }
  }

  get name(): string {
    return `session ${this.session.id}`;
  }

  get isOver(): boolean {
    return this.process.isKilled || this.producer.state !== 'ready';
  }

  send(record: ProducerRecord, entry: LedgerEntry, signal?: AbortSignal): void {
    this.producer.send(record, signal === undefined ? undefined : { signal }).then(
      (metadata) => this.#acknowledged(entry, metadata),
      (error: unknown) => this.#failed(entry, error),
    );
  }

  /** Returns whether there is room for more. */
  enqueue(record: ProducerRecord, entry: LedgerEntry): boolean {
    try {
      return this.producer.enqueue(record, (error, metadata) => {
        if (error === null) this.#acknowledged(entry, metadata!);
        else this.#failed(entry, error);
      });
    } catch (error) {
      this.#failed(entry, error);
      return false;
    }
  }

  sendBatch(records: readonly ProducerRecord[], entries: readonly LedgerEntry[]): void {
    this.producer.sendBatch(records).then(
      (all) => {
        for (const [index, metadata] of all.entries()) this.#acknowledged(entries[index]!, metadata);
      },
      (error: unknown) => {
        if (!(error instanceof SendBatchError)) throw error;
        for (const [index, result] of error.results.entries()) {
          if (result.error === null) this.#acknowledged(entries[index]!, result.metadata);
          else this.#failed(entries[index]!, result.error);
        }
      },
    );
  }

  freeze(durationMs: number): void {
    const { runtime, trace } = this.#world;
    if (this.session.frozenUntilMs > runtime.monotonicMs()) return;
    trace.note(this.name, () => `is frozen for ${durationMs} ms`);
    this.session.frozenUntilMs = runtime.monotonicMs() + durationMs;
    this.process.freeze(durationMs);
  }

  async close(timeoutMs?: number): Promise<void> {
    this.#world.trace.note(this.name, () => `closes within ${timeoutMs} ms`);
    await this.producer.close(timeoutMs === undefined ? {} : { timeoutMs });
    this.#world.trace.note(this.name, () => 'is closed');
  }

  /** The process dies: its connections end, and nobody hears what became of its records. */
  crash(): void {
    this.#world.trace.note(this.name, () => 'crashes');
    this.#world.coverage.add('workload: crash');
    this.#world.ledger.crash(this.session);
    this.process.kill();
    void this.#transport.close();
  }

  #acknowledged(entry: LedgerEntry, { partition, offset }: RecordMetadata): void {
    this.#settle(entry, { kind: 'acknowledged', partition, offset: Number(offset) });
  }

  #failed(entry: LedgerEntry, error: unknown): void {
    const fate = error instanceof DeliveryError ? error.fate : 'not-stored';
    this.#settle(entry, { kind: 'failed', fate, code: errorCodeOf(error) });
  }

  #settle(entry: LedgerEntry, outcome: Outcome): void {
    if (!this.process.isKilled) this.#world.ledger.settle(entry, outcome);
  }
}

/** Waiting for metadata or memory, then for the answer; timers may run a moment late. */
function settleWithinMs({ maxBlockMs, deliveryTimeoutMs }: ProducerPlan): number {
  return maxBlockMs + deliveryTimeoutMs + 100;
}

const quiet = { info: () => {}, warn: () => {} };

function errorCodeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return 'code' in error ? `${error.name} ${String(error.code)}` : error.name;
}

/** Gzip that answers later, as a codec on another thread does. */
function slowGzip(runtime: Runtime): CompressionCodec {
  return {
    name: 'gzip',
    id: 1,
    compress: (bytes) => {
      const compressed = gzipSync(bytes, { level: 1 });
      if (runtime.random() < 0.3) return compressed;
      return new Promise((resolve) => runtime.schedule(runtime.random() * 20, () => resolve(compressed)));
    },
    decompress: (bytes) => gunzipSync(bytes),
  };
}

/** A broker takes any epoch of a producer id that it does not know: so that the last one is not 32,767 bumps away (C10). */
function withFirstEpoch(transport: Transport, firstEpoch: number, { coverage }: World): Transport {
  let asked = 0;
  return {
    connect: (signal) => transport.connect(signal),
    close: () => transport.close(),
    metadata: (topics) => transport.metadata(topics),
    produce: (brokerId, request) => transport.produce(brokerId, request),
    initProducerId: async () => {
      const { producerId } = await transport.initProducerId();
      if (++asked > 1) coverage.add('state: a new producer id after the last epoch');
      return { producerId, epoch: firstEpoch };
    },
  };
}

function noteEvent({ coverage, ledger, topics, trace }: World, session: Session, event: ProducerEvent): void {
  // Counted over the life of the process, so that it says nothing of the seed.
  if (event.type === 'producer-churn') return;
  const trigger = 'trigger' in event ? ` (${event.trigger})` : '';
  coverage.add(`event: ${event.type}${trigger}`);
  if (event.type === 'topic-recreated') {
    ledger.recreated(session, event.topic, topics.lifeWithId(event.topic, event.topicId));
  }
  if (event.type === 'data-loss-suspected') session.suspected.add(event.topic);
  trace.note(`session ${session.id}`, () => {
    const details = Object.entries(event).filter(([key]) => key !== 'type' && key !== 'error');
    return `event ${event.type} ${details.map(([key, value]) => `${key} ${String(value)}`).join(', ')}`;
  });
}

function wireObserver({ coverage, trace }: World, name: string): WireObserver {
  const show = ({ producerId, producerEpoch, baseSequence, recordCount }: BatchNumbers): string =>
    `${producerId}/${producerEpoch} sequence ${baseSequence}+${recordCount}`;
  return {
    asked: (request) => trace.note(name, () => `→ ${request}`),
    answered: (request, answer) => trace.note(name, () => `← ${request}: ${showValue(answer)}`),
    attempt: (brokerId, topic, partition, numbers, attempts) => {
      trace.note(name, () => `→ broker ${brokerId}: ${topic}-${partition} ${show(numbers)}, attempt ${attempts}`);
    },
    answer: (brokerId, { topic, partition, errorCode, baseOffset }, numbers) => {
      coverage.add(`answer: ${protocolErrorName(errorCode)}`);
      trace.note(name, () => {
        const answer = errorCode === 0 ? `stored at ${baseOffset}` : protocolErrorName(errorCode);
        return `← broker ${brokerId}: ${topic}-${partition} ${show(numbers)} ${answer}`;
      });
    },
    lost: (brokerId, numbers, error) => {
      const sent = error instanceof Error && 'sent' in error ? String(error.sent) : 'no TransportError';
      coverage.add(`answer: none, sent ${sent}`);
      trace.note(name, () => `✗ broker ${brokerId}: ${show(numbers)} lost (sent: ${sent}): ${String(error)}`);
    },
  };
}
