import assert from 'node:assert/strict';
import type { ProducerOptions } from '../../options.ts';
import { createProducer, type Producer } from '../../producer.ts';
import type { RecordMetadata } from '../../record.ts';
import { defineCase } from './case-support.ts';
import type { ConformanceCapability, ConformanceCase, ConformanceEnvironment } from './environment.ts';

export type CaseProducerOptions = Omit<ProducerOptions, 'transport' | 'runtime' | 'logger'>;

const quiet = { info: () => {}, warn: () => {} };

/** Timeouts short enough that a case with lost answers takes a second or two of real time. */
const briskly: CaseProducerOptions = {
  requestTimeoutMs: 500,
  deliveryTimeoutMs: 30_000,
  retryBackoffMs: 20,
  retryBackoffMaxMs: 200,
};

export function createCaseProducer(
  environment: ConformanceEnvironment,
  options: CaseProducerOptions = {},
): Promise<Producer> {
  return createProducer({
    ...briskly,
    ...options,
    transport: environment.createTransport(),
    runtime: environment.runtime,
    logger: quiet,
  });
}

/** A case that runs a real producer through the transport. The producer is closed afterwards. */
export function defineProducerCase(
  rules: readonly string[],
  sentence: string,
  needs: readonly ConformanceCapability[],
  options: CaseProducerOptions,
  run: (producer: Producer, environment: ConformanceEnvironment) => Promise<void>,
): ConformanceCase {
  return defineCase(rules, sentence, needs, async (environment) => {
    const producer = await createCaseProducer(environment, options);
    try {
      await run(producer, environment);
    } finally {
      environment.faults.clear();
      await producer.close({ timeoutMs: 5000 });
    }
  });
}

/** What became of one send, in the order of the calls. */
export type SendOutcome =
  | { readonly value: string; readonly metadata: RecordMetadata; readonly error?: never }
  | { readonly value: string; readonly error: unknown; readonly metadata?: never };

/** Sends each value with a call of its own, without waiting in between. */
export function sendEach(
  producer: Producer,
  topic: string,
  values: readonly string[],
  partition: number | undefined = 0,
): Promise<SendOutcome[]> {
  return Promise.all(
    values.map((value) =>
      producer.send({ topic, partition, value }).then(
        (metadata): SendOutcome => ({ value, metadata }),
        (error: unknown): SendOutcome => ({ value, error }),
      ),
    ),
  );
}

export function valuesFrom(first: number, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `v${first + index}`);
}

/** Every outcome is an acknowledgement, and the partitions hold exactly these records, each where its answer said, in order. */
export async function assertStoredOnceInOrder(
  environment: ConformanceEnvironment,
  topic: string,
  outcomes: readonly SendOutcome[],
): Promise<void> {
  for (const { value, error } of outcomes) {
    assert.equal(error, undefined, `${value} should be acknowledged, but failed: ${String(error)}`);
  }
  await assertAcknowledgedStoredOnceInOrder(environment, topic, outcomes);
  const partitions = new Set(outcomes.map(({ metadata }) => metadata!.partition));
  let stored = 0;
  for (const partition of partitions) stored += (await environment.readPartition(topic, partition)).length;
  assert.equal(stored, outcomes.length, 'as many records are stored as were acknowledged');
}

/** As above for the acknowledged ones among `outcomes`; of the others, none is stored twice. */
export async function assertAcknowledgedStoredOnceInOrder(
  environment: ConformanceEnvironment,
  topic: string,
  outcomes: readonly SendOutcome[],
): Promise<void> {
  const partitions = new Set(outcomes.flatMap(({ metadata }) => (metadata === undefined ? [] : [metadata.partition])));
  const places = new Map<string, { partition: number; offset: bigint }>();
  for (const partition of partitions) {
    for (const { offset, value } of await environment.readPartition(topic, partition)) {
      const text = value === null ? 'null' : Buffer.from(value).toString();
      assert.ok(!places.has(text), `${text} is stored twice`);
      places.set(text, { partition, offset });
    }
  }
  const newest = new Map<number, bigint>();
  for (const { value, metadata } of outcomes) {
    if (metadata === undefined) continue;
    const place = places.get(value);
    assert.ok(place !== undefined, `${value} was acknowledged and is not stored`);
    assert.equal(place.partition, metadata.partition, `${value} is in the partition that its answer named`);
    if (metadata.offset >= 0n) {
      assert.equal(place.offset, metadata.offset, `${value} is at the offset that its answer named`);
    }
    const before = newest.get(place.partition);
    assert.ok(before === undefined || before < place.offset, `${value} is stored in send order`);
    newest.set(place.partition, place.offset);
  }
}
