import assert from 'node:assert/strict';
import { TransportError } from '../../errors.ts';
import type { PartitionResult, ProduceRequest, ProducerIdentity, Transport } from '../../transport/transport.ts';
import type { ConformanceCapability, ConformanceCase, ConformanceEnvironment } from './environment.ts';
import { encodeRawBatch } from './raw-batch.ts';

/** Long enough that it only passes when something hangs. */
export const patientTimeoutMs = 20_000;

export function defineCase(
  rules: readonly string[],
  sentence: string,
  needs: readonly ConformanceCapability[],
  run: (environment: ConformanceEnvironment) => Promise<void>,
): ConformanceCase {
  return {
    name: `${rules.join(', ')}: ${sentence}`,
    rules,
    needs,
    run: async (environment) => {
      try {
        await run(environment);
      } finally {
        environment.faults.clear();
      }
    },
  };
}

/** A case on one connected transport, which is closed afterwards. */
export function defineTransportCase(
  rules: readonly string[],
  sentence: string,
  needs: readonly ConformanceCapability[],
  run: (transport: Transport, environment: ConformanceEnvironment) => Promise<void>,
): ConformanceCase {
  return defineCase(rules, sentence, needs, async (environment) => {
    const transport = environment.createTransport();
    try {
      await transport.connect();
      await run(transport, environment);
    } finally {
      environment.faults.clear();
      await transport.close();
    }
  });
}

export function delay(environment: ConformanceEnvironment, delayMs: number): Promise<void> {
  return new Promise((resolve) => environment.runtime.schedule(delayMs, resolve));
}

/** Asks again and again until `check` holds; fails after `withinMs`. */
export async function eventually(
  environment: ConformanceEnvironment,
  what: string,
  check: () => boolean | Promise<boolean>,
  withinMs = patientTimeoutMs,
): Promise<void> {
  const giveUpAtMs = environment.runtime.monotonicMs() + withinMs;
  while (!(await check())) {
    assert.ok(environment.runtime.monotonicMs() < giveUpAtMs, `not within ${withinMs} ms: ${what}`);
    await delay(environment, 20);
  }
}

/** Awaits a rejection with a `TransportError` and returns it. */
export async function rejectsAsTransportError(promise: Promise<unknown>, what: string): Promise<TransportError> {
  const outcome = await promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  assert.ok('error' in outcome, `${what}: should reject, but resolved`);
  assert.ok(
    outcome.error instanceof TransportError,
    `${what}: should reject with a TransportError, not ${String(outcome.error)}`,
  );
  assert.ok(outcome.error.sent === 'no' || outcome.error.sent === 'maybe', `${what}: says whether it was sent`);
  return outcome.error;
}

export async function leaderOf(transport: Transport, topic: string, partition: number): Promise<number> {
  const metadata = await transport.metadata([topic]);
  const leader = metadata.topics[0]?.partitions.find((entry) => entry.partition === partition)?.leader;
  assert.ok(leader !== undefined && leader >= 0, `${topic}-${partition} has a leader`);
  return leader;
}

/** Numbers and sends batches of one producer id to one partition, as a case tells it. */
export class RawProducer {
  readonly transport: Transport;
  readonly topic: string;
  readonly partition: number;
  readonly identity: ProducerIdentity;
  readonly #environment: ConformanceEnvironment;
  readonly #brokerId: number;

  private constructor(
    environment: ConformanceEnvironment,
    transport: Transport,
    topic: string,
    partition: number,
    identity: ProducerIdentity,
    brokerId: number,
  ) {
    this.#environment = environment;
    this.transport = transport;
    this.topic = topic;
    this.partition = partition;
    this.identity = identity;
    this.#brokerId = brokerId;
  }

  static async create(
    environment: ConformanceEnvironment,
    transport: Transport,
    { topic, partition = 0 }: { topic?: string; partition?: number } = {},
  ): Promise<RawProducer> {
    const name = topic ?? (await environment.createTopic({ partitions: 1 }));
    const brokerId = await leaderOf(transport, name, partition);
    return new RawProducer(environment, transport, name, partition, await transport.initProducerId(), brokerId);
  }

  batch(baseSequence: number, values: readonly (string | Uint8Array)[], epoch = this.identity.epoch): Buffer {
    return encodeRawBatch({
      producerId: this.identity.producerId,
      epoch,
      baseSequence,
      values,
      timestampMs: this.#environment.runtime.wallClockMs(),
    });
  }

  request(batch: Uint8Array, options: Partial<Pick<ProduceRequest, 'acks' | 'timeoutMs'>> = {}): ProduceRequest {
    return {
      acks: 'all',
      timeoutMs: patientTimeoutMs,
      ...options,
      partitions: [{ topic: this.topic, partition: this.partition, batch }],
    };
  }

  /** Sends one batch, and returns the answer for it. */
  async send(
    batch: Uint8Array,
    options: Partial<Pick<ProduceRequest, 'acks' | 'timeoutMs'>> = {},
  ): Promise<PartitionResult> {
    const results = await this.transport.produce(this.#brokerId, this.request(batch, options));
    assert.equal(results.length, 1, 'one result for one partition');
    const result = results[0]!;
    assert.equal(result.topic, this.topic, "the result's topic is the request's");
    assert.equal(result.partition, this.partition, "the result's partition is the request's");
    assert.equal(typeof result.baseOffset, 'bigint', 'offsets are bigints');
    assert.equal(typeof result.logStartOffset, 'bigint', 'offsets are bigints');
    return result;
  }

  get brokerId(): number {
    return this.#brokerId;
  }

  async values(): Promise<string[]> {
    return readValues(this.#environment, this.topic, this.partition);
  }
}

export async function readValues(
  environment: ConformanceEnvironment,
  topic: string,
  partition: number,
): Promise<string[]> {
  const records = await environment.readPartition(topic, partition);
  return records.map(({ value }) => (value === null ? 'null' : Buffer.from(value).toString()));
}
