import { createProducer, type ProducerEvent, type ProducerHooks } from '@sendonce/producer-core';
import { type KafkaBehindProxy, startKafkaBehindProxy } from '@sendonce/test-services';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createKafkaTransport } from '../src/index.ts';
import { type DumpedBatch, dumpBatches } from './log-dump.testkit.ts';

// What was sent, as programs that are not ours see it: Kafka's log dump, Java's console producer and consumer, kafkajs.

let cluster: KafkaBehindProxy;

beforeAll(async () => {
  cluster = await startKafkaBehindProxy();
});
afterAll(() => cluster?.stop());

const transport = () => createKafkaTransport({ brokers: cluster.bootstrap, clientId: 'other-readers' });

/** What our hooks say was stored, in the order of acknowledgement. */
function storedBatches(): { hooks: ProducerHooks; batches: DumpedBatch[]; events: ProducerEvent[] } {
  const batches: DumpedBatch[] = [];
  const events: ProducerEvent[] = [];
  const hooks: ProducerHooks = {
    onBatchSettled: ({ recordCount, producerId, epoch, baseSequence }, { fate, baseOffset }) => {
      if (fate !== 'stored') return;
      batches.push({
        baseOffset,
        count: recordCount,
        producerId,
        epoch,
        baseSequence,
        codec: 'none',
        isValid: true,
      });
    },
    onEvent: (event) => events.push(event),
  };
  return { hooks, batches, events };
}

describe('the log, as kafka.tools.DumpLogSegments shows it', () => {
  test('C2, C3: every stored batch has the numbers that we say, once, also after lost replies and an epoch bump', async () => {
    const topic = 'numbered';
    await cluster.kafka.createTopic({ topic, config: { 'max.message.bytes': 20_000 } });
    const { hooks, batches, events } = storedBatches();
    const producer = await createProducer({ transport: transport(), hooks, requestTimeoutMs: 1_000 });
    const send = (from: number, to: number) =>
      Promise.all(
        Array.from({ length: to - from }, (_, i) => producer.send({ topic, value: `record ${from + i}`, key: 'k' })),
      );
    await send(0, 3);
    const lost = cluster.proxy.faults.order('lose-reply', { times: 1 });
    await send(3, 10);
    expect(lost.hits).toBe(1);
    expect(producer.stats()).toMatchObject({ retries: 1, epochBumps: 0 });
    // Refused for good after it had its numbers: the partition takes its next epoch (C9).
    await expect(producer.send({ topic, value: Buffer.alloc(30_000) })).rejects.toMatchObject({
      code: 'RECORD_TOO_LARGE',
      fate: 'not-stored',
    });
    await send(10, 14);
    const lostAgain = cluster.proxy.faults.order('lose-reply', { times: 1 });
    await send(14, 20);
    expect(lostAgain.hits).toBe(1);
    await producer.close();

    const dumped = (await dumpBatches(cluster.kafka, [`${topic}-0`])).get(`${topic}-0`)!;
    expect(dumped).toEqual(batches);
    expect(new Set(dumped.map(({ producerId }) => producerId))).toEqual(new Set([producer.stats().producerId]));
    const epochs = [...new Set(dumped.map(({ epoch }) => epoch))];
    expect(epochs).toEqual([0, 1]);
    for (const epoch of epochs) {
      let next = 0;
      for (const batch of dumped.filter((each) => each.epoch === epoch)) {
        expect(batch.baseSequence).toBe(next);
        next += batch.count;
      }
    }
    expect(events.map(({ type }) => type)).toContain('epoch-bumped');
    const values = (await cluster.kafka.readAll(topic)).map(({ value }) => String(value));
    expect(values).toEqual(Array.from({ length: 20 }, (_, i) => `record ${i}`));
  });
});

describe('Java’s clients', () => {
  test('P19: a key lands on the partition that Java’s producer picks', async () => {
    const keys = ['100:48069', '', 'ä', '€', '漢字', '😀', ...Array.from({ length: 60 }, (_, i) => `key-${i * 7919}`)];
    await cluster.kafka.createTopic({ topic: 'from-java', partitions: 12 });
    await cluster.kafka.createTopic({ topic: 'from-us', partitions: 12 });
    const javaProducer = cluster.kafka.runTool(
      'org.apache.kafka.tools.ConsoleProducer',
      [
        '--bootstrap-server',
        cluster.kafka.bootstrap[0]!,
        '--topic',
        'from-java',
        '--property',
        'parse.key=true',
        '--property',
        'key.separator=|',
      ],
      keys.map((key) => `${key}|v\n`).join(''),
    );
    const producer = await createProducer({ transport: transport() });
    const sent = await producer.sendBatch(keys.map((key) => ({ topic: 'from-us', key, value: 'v' })));
    await producer.close();
    await javaProducer;
    const partitionsIn = async (topic: string) =>
      new Map((await cluster.kafka.readAll(topic)).map(({ key, partition }) => [String(key), partition]));
    const ofJava = await partitionsIn('from-java');
    expect(ofJava.size).toBe(keys.length);
    expect(ofJava.get('100:48069')).toBe(9);
    expect(await partitionsIn('from-us')).toEqual(ofJava);
    expect(sent.map(({ partition }) => partition)).toEqual(keys.map((key) => ofJava.get(key)));
  });

  test('every codec is stored as such, and read back by Java’s console consumer', async () => {
    const codecs = ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const;
    const recordsEach = 40;
    const expected: string[] = [];
    for (const compression of codecs) {
      const topic = `codec-${compression}`;
      await cluster.kafka.createTopic({ topic });
      const producer = await createProducer({ transport: transport(), compression });
      const records = Array.from({ length: recordsEach }, (_, i) => {
        const value = `${compression} ${i} ${'äbc'.repeat(i * 20)}`;
        expected.push(`key ${i}\t${value}`);
        return { topic, key: `key ${i}`, value };
      });
      await producer.sendBatch(records);
      await producer.close();
    }
    const partitions = codecs.map((codec) => `codec-${codec}-0`);
    const [printed, dumped] = await Promise.all([
      cluster.kafka.runTool('org.apache.kafka.tools.consumer.ConsoleConsumer', [
        '--bootstrap-server',
        cluster.kafka.bootstrap[0]!,
        '--include',
        'codec-.*',
        '--from-beginning',
        '--max-messages',
        String(expected.length),
        '--timeout-ms',
        '30000',
        '--property',
        'print.key=true',
      ]),
      dumpBatches(cluster.kafka, partitions),
    ]);
    for (const [i, codec] of codecs.entries())
      expect(new Set(dumped.get(partitions[i]!)!.map((batch) => batch.codec))).toEqual(new Set([codec]));
    const lines = printed.split('\n').filter((line) => line !== '');
    expect([...lines].sort()).toEqual([...expected].sort());
    for (const codec of codecs) {
      const ofCodec = (all: string[]) => all.filter((line) => line.includes(`\t${codec} `));
      expect(ofCodec(lines)).toEqual(ofCodec(expected));
    }
  });
});
