import { createDeduplicator, memoryStore } from '@sendonce/consumer-dedup';
import { createProducer, type Producer, type ProducerOptions, type ProducerRecord } from '@sendonce/producer-core';
import { createSimulatedRuntime, type SimulatedRuntime } from '@sendonce/producer-core/testing';
import type { Transport } from '@sendonce/producer-core/transport';
import { createMemoryCluster, type MemoryCluster, type MemoryClusterOptions } from '@sendonce/transport-memory';
import type { Telemetry } from './telemetry.ts';

type Hooks = Pick<Telemetry, 'producerHooks' | 'dedupHooks'>;

/** What a cause plays on. */
interface Stage {
  readonly runtime: SimulatedRuntime;
  readonly cluster: MemoryCluster;
  readonly producer: Producer;
  readonly send: (more?: Partial<ProducerRecord>) => Promise<unknown>;
  readonly wait: (ms: number) => Promise<void>;
}

interface Setting {
  readonly cluster?: MemoryClusterOptions;
  readonly producer?: Partial<ProducerOptions>;
  /** Replaces the cluster's transport. */
  readonly transport?: (transport: Transport) => Transport;
}

/** Makes one thing go wrong, and lets the producer or the deduplicator meet it. */
export type Cause = (hooks: Hooks) => Promise<void>;

const topic = 'payments';
const payment: ProducerRecord = { topic, value: '20.00 EUR' };
const logger = { info: () => {}, warn: () => {} };
const dayMs = 86_400_000;
const always = { times: Number.POSITIVE_INFINITY };

/** A producer of its own before a cluster of its own, on virtual time; closed at the end. */
function onStage(setting: Setting, play: (stage: Stage) => Promise<unknown>): Cause {
  return async ({ producerHooks }) => {
    const runtime = createSimulatedRuntime({ seed: 5 });
    const cluster = createMemoryCluster({ runtime, brokers: 3, topics: { [topic]: {} }, ...setting.cluster });
    const wait = (ms: number): Promise<void> => new Promise((resolve) => void runtime.schedule(ms, resolve));
    const transport = cluster.transport();
    await runtime.runUntilSettled(
      (async () => {
        const producer = await createProducer({
          transport: setting.transport?.(transport) ?? transport,
          runtime,
          clientId: 'payments-api',
          requestTimeoutMs: 1_000,
          deliveryTimeoutMs: 5_000,
          maxBlockMs: 1_000,
          logger,
          hooks: producerHooks,
          ...setting.producer,
        });
        const send = (more: Partial<ProducerRecord> = {}): Promise<unknown> =>
          producer.send({ ...payment, ...more }).catch(() => undefined);
        await play({ runtime, cluster, producer, send, wait });
        await producer.close();
      })(),
    );
  };
}

/** A record that is stored first, so that what follows meets a partition in its stride. */
const afterOne =
  (play: (stage: Stage) => Promise<unknown>) =>
  async (stage: Stage): Promise<void> => {
    await stage.send();
    await play(stage);
  };

const answered = (errorCode: number, when: 'before' | 'after' = 'before'): Cause =>
  onStage({}, async ({ cluster, send }) => {
    cluster.faults.answerWith(errorCode, {}, { when });
    await send();
  });

const deduplicating =
  (options: { leaseMs?: number }, play: (dedup: ReturnType<typeof ledger>) => Promise<unknown>): Cause =>
  async ({ dedupHooks }) => {
    const dedup = ledger(dedupHooks, options);
    await play(dedup);
    await dedup.close();
  };

function ledger(hooks: Hooks['dedupHooks'], options: { leaseMs?: number } = {}, store = memoryStore()) {
  return createDeduplicator({ store, namespace: 'ledger', hooks, ...options });
}

const message = (key: string, value = '20.00 EUR') => ({
  topic,
  partition: 0,
  offset: '7',
  value,
  headers: { 'idempotency-key': key },
});

/** By the names that docs/reading-retries.md has for them. */
export const causes: Readonly<Record<string, Cause>> = {
  'The leader moved': onStage(
    {},
    afterOne(async ({ cluster, send }) => {
      cluster.partition(topic, 0).moveLeader();
      await send();
    }),
  ),
  'A broker died': onStage(
    { cluster: { electionDelayMs: 500, latencyMs: 5 } },
    afterOne(async ({ cluster, send, wait }) => {
      const sent = send();
      await wait(1);
      cluster.broker(cluster.partition(topic, 0).leader).kill();
      await sent;
    }),
  ),
  'No broker answers the door': onStage(
    { producer: { deliveryTimeoutMs: 3_000 } },
    afterOne(async ({ cluster, send, wait }) => {
      for (const id of [1, 2, 3]) cluster.broker(id).kill();
      await wait(10);
      await send();
    }),
  ),
  'Answers get lost': onStage({}, async ({ cluster, send }) => {
    cluster.faults.loseReply();
    await send();
  }),
  'Too few replicas in sync': onStage(
    { cluster: { topics: { [topic]: { minInsyncReplicas: 2 } } } },
    afterOne(async ({ cluster, send, wait }) => {
      const { leader } = cluster.partition(topic, 0);
      for (const id of [1, 2, 3]) if (id !== leader) cluster.broker(id).kill();
      const sent = send();
      await wait(500);
      for (const id of [1, 2, 3]) if (id !== leader) cluster.broker(id).restart();
      await sent;
    }),
  ),
  'Replicas fall behind after the append': answered(20, 'after'),
  'An earlier batch is being retried': onStage(
    { producer: { batchSize: 512 } },
    afterOne(async ({ cluster, send }) => {
      cluster.faults.loseRequest();
      await Promise.all([0, 1, 2].map(() => send({ value: 'x'.repeat(400) })));
    }),
  ),
  'Batches too large for the topic': onStage(
    { cluster: { topics: { [topic]: { maxMessageBytes: 1_000 } } } },
    ({ send }) => Promise.all([0, 1, 2, 3].map(() => send({ value: 'x'.repeat(400) }))),
  ),

  'Nothing answers in time': onStage({}, async ({ cluster, send }) => {
    cluster.faults.loseRequest(always);
    await send();
  }),
  'The cluster cannot be asked': onStage({ producer: { maxBlockMs: 3_000 } }, async ({ cluster, send }) => {
    cluster.faults.resetConnection({ api: 'metadata', ...always });
    await send();
  }),
  'The topic does not exist': onStage({ producer: { maxBlockMs: 30_000 } }, ({ send }) => send({ topic: 'paymens' })),
  'No permission to write': answered(29),
  'The broker refuses the record': answered(87),
  'The record is too large': onStage({ producer: { maxRequestSize: 1_000 } }, ({ send }) =>
    send({ value: 'x'.repeat(2_000) }),
  ),
  'Memory is full': onStage(
    { producer: { bufferMemory: 4_096, maxRequestSize: 4_096, batchSize: 4_096 } },
    afterOne(async ({ cluster, send }) => {
      cluster.faults.loseRequest(always);
      await Promise.all([send({ value: 'x'.repeat(3_900) }), send({ value: 'x'.repeat(3_900) })]);
    }),
  ),
  'Closed with records on their way': onStage({}, async ({ cluster, producer, send, wait }) => {
    cluster.faults.loseRequest(always);
    const sent = send();
    await wait(10);
    await producer.close({ timeoutMs: 100 });
    await sent;
  }),
  'Nobody listens': onStage({}, async ({ cluster, producer, wait }) => {
    cluster.faults.answerWith(87);
    producer.enqueue(payment);
    await wait(100);
  }),

  'A delivery timeout left the fate open': onStage(
    { producer: { deliveryTimeoutMs: 1_500 } },
    afterOne(async ({ cluster, send, wait }) => {
      cluster.faults.loseRequest({ times: 2 });
      const first = send();
      await wait(1_200);
      await Promise.all([first, send()]);
    }),
  ),
  'The log went back, and the broker had forgotten the producer': onStage(
    { cluster: { profile: 'kafka-4', topics: { [topic]: { minInsyncReplicas: 1 } } } },
    async ({ cluster, send, wait }) => {
      const { leader } = cluster.partition(topic, 0);
      const others = [1, 2, 3].filter((id) => id !== leader);
      for (const id of others) cluster.broker(id).kill();
      await wait(100);
      for (let index = 0; index < 3; index++) await send();
      cluster.broker(leader).kill();
      cluster.broker(others[0]!).restart();
      await wait(100);
      cluster.partition(topic, 0).uncleanElection(others[0]);
      await send();
    },
  ),
  'The topic was deleted and made again': onStage(
    {},
    afterOne(async ({ cluster, send, wait }) => {
      cluster.deleteTopic(topic);
      const sent = send();
      await wait(300);
      cluster.createTopic(topic);
      await sent;
    }),
  ),
  'An unclean election': onStage(
    { cluster: { topics: { [topic]: { minInsyncReplicas: 1 } } } },
    afterOne(async ({ cluster, send, wait }) => {
      const { leader } = cluster.partition(topic, 0);
      const others = [1, 2, 3].filter((id) => id !== leader);
      for (const id of others) cluster.broker(id).kill();
      for (let index = 0; index < 3; index++) await send();
      cluster.broker(leader).kill();
      cluster.broker(others[0]!).restart();
      await wait(100);
      cluster.partition(topic, 0).uncleanElection(others[0]);
      await send();
    }),
  ),
  'The broker lost its memory of the producer': onStage(
    {},
    afterOne(async ({ cluster, send }) => {
      cluster.partition(topic, 0).forgetProducers();
      await send();
    }),
  ),
  'The producer was idle for longer than brokers remember': onStage(
    {},
    afterOne(async ({ send, wait }) => {
      await wait(2 * dayMs);
      await send();
    }),
  ),
  'Retention removed its records': onStage(
    {},
    afterOne(async ({ cluster, send }) => {
      const partition = cluster.partition(topic, 0);
      partition.deleteRecordsBefore(partition.logEndOffset);
      partition.forgetProducers();
      await send();
    }),
  ),
  'Another producer took over its id': async (hooks) => {
    let epoch = 0;
    const sharedId = (transport: Transport): Transport => ({
      connect: (signal) => transport.connect(signal),
      close: () => transport.close(),
      metadata: (topics) => transport.metadata(topics),
      initProducerId: async () => ({ producerId: 7n, epoch: epoch++ }),
      produce: (brokerId, request) => transport.produce(brokerId, request),
    });
    await onStage(
      { transport: sharedId },
      afterOne(async ({ cluster, runtime, send }) => {
        const successor = await createProducer({ transport: sharedId(cluster.transport()), runtime, logger });
        await successor.send(payment);
        await send();
        await successor.close();
      }),
    )(hooks);
  },
  'Records older than brokers remember': onStage({}, ({ runtime, send }) =>
    send({ timestamp: runtime.wallClockMs() - 2 * dayMs }),
  ),

  'A producer for each request': async (hooks) => {
    for (let index = 0; index < 12; index++) await onStage({}, ({ send }) => send())(hooks);
  },
  'No producer id to be had': onStage({ cluster: { producerIdBlockDelayMs: 300 } }, ({ send }) => send()),

  'The application sends twice': deduplicating({}, async (dedup) => {
    await dedup.process(message('payment-17'), async () => {});
    await dedup.process(message('payment-17'), async () => {});
  }),
  'Two events share a key': deduplicating({}, async (dedup) => {
    await dedup.process(message('payment-17'), async () => {});
    await dedup.process(message('payment-17', '30.00 EUR'), async () => {});
  }),
  'The store cannot be reached': async ({ dedupHooks }) => {
    const store = Object.assign(memoryStore(), {
      claim: () => Promise.reject(Object.assign(new Error('gone'), { code: 'ECONNREFUSED' })),
    });
    await ledger(dedupHooks, {}, store).process(message('payment-17'), async () => {});
  },
  'The handler fails': deduplicating({}, (dedup) =>
    dedup.process(message('payment-17'), async () => {
      throw new TypeError('no such account');
    }),
  ),
  'A handler outlives its lease': async ({ dedupHooks }) => {
    let nowMs = 0;
    const store = memoryStore({ clock: () => nowMs });
    const slow = ledger(dedupHooks, { leaseMs: 100 }, store);
    const quick = ledger(dedupHooks, { leaseMs: 100 }, store);
    await slow.process(message('payment-17'), async (_message, { signal }) => {
      nowMs += 10_000;
      await quick.process(message('payment-17'), async () => {});
      if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve));
    });
  },
};

/** Nothing goes wrong: what is not 0 after this says nothing. */
export const allIsWell: Cause = async (hooks) => {
  await onStage({}, ({ send }) => Promise.all([send(), send()]))(hooks);
  await deduplicating({}, (dedup) => dedup.process(message('payment-17'), async () => {}))(hooks);
};
