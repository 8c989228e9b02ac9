import assert from 'node:assert/strict';
import { ProtocolError } from '../../errors.ts';
import { protocolErrorCodes } from '../../transport/protocol-errors.ts';
import {
  defineTransportCase,
  eventually,
  leaderOf,
  patientTimeoutMs,
  RawProducer,
  readValues,
} from './case-support.ts';
import type { ConformanceCase } from './environment.ts';

const code = protocolErrorCodes;

function repeat(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}${index}`);
}

/** What the broker answers, and that the transport hands it on as it came. */
export const answerCases: readonly ConformanceCase[] = [
  defineTransportCase(
    ['T3'],
    'two hundred requests sent at once reach the broker in the order of the calls',
    [],
    async (transport, environment) => {
      const producer = await RawProducer.create(environment, transport);
      const results = await Promise.all(
        repeat('v', 200).map((value, index) => producer.send(producer.batch(index, [value]))),
      );
      assert.deepEqual(
        results.map(({ errorCode, baseOffset }) => [errorCode, baseOffset]),
        results.map((_, index) => [code.NONE, BigInt(index)]),
        'one out of order would be refused with 45, or stored at another offset',
      );
      assert.deepEqual(await producer.values(), repeat('v', 200));
    },
  ),

  defineTransportCase(
    ['T3'],
    'the first requests ever sent to a broker, before any connection to it stands, keep their order too',
    [],
    async (_, environment) => {
      const other = environment.createTransport();
      try {
        await other.connect();
        const producer = await RawProducer.create(environment, other);
        const results = await Promise.all(
          repeat('v', 20).map((value, index) => producer.send(producer.batch(index, [value]))),
        );
        assert.deepEqual(
          results.map(({ errorCode }) => errorCode),
          results.map(() => code.NONE),
        );
      } finally {
        await other.close();
      }
    },
  ),

  defineTransportCase(
    ['M2', 'T1'],
    'next accepted, repeat recognised with its first offset, gap and overlap refused as out of order',
    [],
    async (transport, environment) => {
      const producer = await RawProducer.create(environment, transport);
      const answer = async (sequence: number, values: string[]): Promise<[number, bigint]> => {
        const { errorCode, baseOffset } = await producer.send(producer.batch(sequence, values));
        return [errorCode, baseOffset];
      };
      assert.deepEqual(await answer(0, ['a', 'b']), [code.NONE, 0n]);
      assert.deepEqual(await answer(2, ['c']), [code.NONE, 2n]);
      assert.deepEqual(await answer(3, ['d', 'e', 'f']), [code.NONE, 3n]);
      assert.deepEqual(await answer(0, ['a', 'b']), [code.NONE, 0n], 'repeat of an earlier one');
      assert.deepEqual(await answer(3, ['d', 'e', 'f']), [code.NONE, 3n], 'repeat of the last one');
      assert.equal((await answer(8, ['h']))[0], code.OUT_OF_ORDER_SEQUENCE_NUMBER, 'a gap');
      assert.equal((await answer(3, ['d', 'e']))[0], code.OUT_OF_ORDER_SEQUENCE_NUMBER, 'same first, other count');
      assert.deepEqual(await answer(6, ['g']), [code.NONE, 6n], 'and goes on after refusals');
      assert.deepEqual(await producer.values(), ['a', 'b', 'c', 'd', 'e', 'f', 'g']);
    },
  ),

  defineTransportCase(
    ['M2', 'T1'],
    'the five last batches are recognised, each with its own offset',
    [],
    async (transport, environment) => {
      const producer = await RawProducer.create(environment, transport);
      const batches = repeat('v', 5).map((value, index) => producer.batch(index, [value]));
      for (const batch of batches) await producer.send(batch);
      for (const [index, batch] of batches.entries()) {
        const { errorCode, baseOffset } = await producer.send(batch);
        assert.deepEqual([errorCode, baseOffset], [code.NONE, BigInt(index)]);
      }
      assert.deepEqual(await producer.values(), repeat('v', 5));
    },
  ),

  defineTransportCase(
    ['M2', 'T1'],
    'a higher epoch starts again at 0 and only there; a lower one is refused from then on',
    [],
    async (transport, environment) => {
      const producer = await RawProducer.create(environment, transport);
      const answer = async (epoch: number, sequence: number, value: string): Promise<number> =>
        (await producer.send(producer.batch(sequence, [value], epoch))).errorCode;
      assert.equal(await answer(0, 0, 'a'), code.NONE);
      assert.equal(await answer(1, 1, 'x'), code.OUT_OF_ORDER_SEQUENCE_NUMBER, 'a higher epoch at 1');
      assert.equal(await answer(1, 0, 'b'), code.NONE, 'a higher epoch at 0');
      assert.equal(await answer(0, 1, 'y'), code.INVALID_PRODUCER_EPOCH, 'the epoch before');
      assert.equal(await answer(1, 1, 'c'), code.NONE);
      assert.deepEqual(await producer.values(), ['a', 'b', 'c']);
    },
  ),

  defineTransportCase(['C10'], 'sequence numbers go on at 0 after 2147483647', [], async (transport, environment) => {
    const producer = await RawProducer.create(environment, transport);
    const last = 2 ** 31 - 1;
    // Brokers differ in what they let an unknown producer start with; the whole range in one epoch can't be sent by a test.
    const first = await producer.send(producer.batch(last - 1, ['a']));
    if (first.errorCode === code.NONE) {
      assert.equal(
        (await producer.send(producer.batch(last, ['b', 'c']))).errorCode,
        code.NONE,
        'wraps inside a batch',
      );
      assert.equal((await producer.send(producer.batch(1, ['d']))).errorCode, code.NONE);
      assert.deepEqual(await producer.values(), ['a', 'b', 'c', 'd']);
    } else {
      assert.ok(
        first.errorCode === code.OUT_OF_ORDER_SEQUENCE_NUMBER || first.errorCode === code.UNKNOWN_PRODUCER_ID,
        `answered ${first.errorCode}`,
      );
    }
  }),

  defineTransportCase(
    ['T1'],
    'one request for several partitions answers for each in its order, good and bad side by side',
    [],
    async (transport, environment) => {
      const topic = await environment.createTopic({ partitions: 4 });
      const brokerId = await leaderOf(transport, topic, 0);
      const { topics } = await transport.metadata([topic]);
      const together = topics[0]!.partitions
        .filter(({ leader }) => leader === brokerId)
        .map(({ partition }) => partition);
      const producer = await RawProducer.create(environment, transport, { topic });
      const order = [...together].reverse();
      const damaged = Buffer.from(producer.batch(0, ['damaged']));
      damaged[damaged.length - 2]! ^= 0xff;
      const results = await transport.produce(brokerId, {
        acks: 'all',
        timeoutMs: patientTimeoutMs,
        partitions: [
          ...order.map((partition) => ({
            topic,
            partition,
            batch: partition === together[0] ? damaged : producer.batch(0, [`p${partition}`]),
          })),
          { topic, partition: 99, batch: producer.batch(0, ['no such partition']) },
        ],
      });
      assert.deepEqual(
        results.map(({ partition }) => partition),
        [...order, 99],
      );
      for (const { partition, errorCode, baseOffset } of results) {
        if (partition === 99) assert.equal(errorCode, code.UNKNOWN_TOPIC_OR_PARTITION);
        else if (partition === together[0]) assert.equal(errorCode, code.CORRUPT_MESSAGE);
        else assert.deepEqual([errorCode, baseOffset], [code.NONE, 0n]);
      }
      for (const partition of together) {
        assert.deepEqual(
          await readValues(environment, topic, partition),
          partition === together[0] ? [] : [`p${partition}`],
        );
      }
    },
  ),

  defineTransportCase(['T1'], 'several topics in one request', [], async (transport, environment) => {
    const names = [await environment.createTopic({ partitions: 1 }), await environment.createTopic({ partitions: 1 })];
    const leaders = await Promise.all(names.map((topic) => leaderOf(transport, topic, 0)));
    const { producerId, epoch } = await transport.initProducerId();
    const producer = await RawProducer.create(environment, transport, { topic: names[0]! });
    assert.ok(producerId !== producer.identity.producerId && epoch === 0);
    for (const brokerId of new Set(leaders)) {
      const topics = names.filter((_, index) => leaders[index] === brokerId);
      const results = await transport.produce(brokerId, {
        acks: 'all',
        timeoutMs: patientTimeoutMs,
        partitions: topics.map((topic) => ({ topic, partition: 0, batch: producer.batch(0, [topic]) })),
      });
      assert.deepEqual(
        results.map(({ topic, errorCode }) => [topic, errorCode]),
        topics.map((topic) => [topic, code.NONE]),
      );
    }
    for (const topic of names) assert.deepEqual(await readValues(environment, topic, 0), [topic]);
  }),

  defineTransportCase(
    ['T1'],
    'acks leader answers with the offset; acks none answers at once without one, and is stored in order all the same',
    [],
    async (transport, environment) => {
      const producer = await RawProducer.create(environment, transport);
      const leader = await producer.send(producer.batch(0, ['leader']), { acks: 'leader' });
      assert.deepEqual([leader.errorCode, leader.baseOffset], [code.NONE, 0n]);
      const none = await Promise.all(
        [1, 2].map((sequence) => producer.send(producer.batch(sequence, [`n${sequence}`]), { acks: 'none' })),
      );
      for (const { errorCode, baseOffset } of none) assert.deepEqual([errorCode, baseOffset], [code.NONE, -1n]);
      const all = await producer.send(producer.batch(3, ['all']));
      assert.deepEqual(
        [all.errorCode, all.baseOffset],
        [code.NONE, 3n],
        'requests without an answer do not shift the others',
      );
      await eventually(environment, 'all four are stored', async () => (await producer.values()).length === 4);
      assert.deepEqual(await producer.values(), ['leader', 'n1', 'n2', 'all']);
    },
  ),

  defineTransportCase(['T1'], 'a batch near the size limit arrives whole', [], async (transport, environment) => {
    const producer = await RawProducer.create(environment, transport);
    const large = Buffer.alloc(1_000_000, 'large value ');
    assert.equal((await producer.send(producer.batch(0, [large]))).errorCode, code.NONE);
    assert.equal((await producer.send(producer.batch(1, ['next']))).baseOffset, 1n);
    const [stored] = await environment.readPartition(producer.topic, 0);
    assert.ok(stored?.value !== null && stored?.value !== undefined && large.equals(stored.value));
  }),

  defineTransportCase(
    ['C11', 'T1'],
    'a batch over the topic’s limit is answered MESSAGE_TOO_LARGE, and the connection lives on',
    [],
    async (transport, environment) => {
      const topic = await environment.createTopic({ partitions: 1, maxMessageBytes: 2000 });
      const producer = await RawProducer.create(environment, transport, { topic });
      const tooLarge = await producer.send(producer.batch(0, [Buffer.alloc(4000, 'x')]));
      assert.equal(tooLarge.errorCode, code.MESSAGE_TOO_LARGE);
      assert.deepEqual((await producer.send(producer.batch(0, ['fits']))).baseOffset, 0n);
    },
  ),

  defineTransportCase(
    ['M3', 'T1'],
    'a damaged batch is refused whole, as corrupt or invalid, and uses up no number',
    [],
    async (transport, environment) => {
      const producer = await RawProducer.create(environment, transport);
      const damage: Record<string, (batch: Buffer) => unknown> = {
        'a flipped bit in a value': (batch) =>
          batch.writeUInt8(batch.readUInt8(batch.length - 3) ^ 1, batch.length - 3),
        'a wrong checksum': (batch) => batch.writeUInt32BE(1, 17),
        'magic 1': (batch) => batch.writeInt8(1, 16),
        'a wrong length': (batch) => batch.writeInt32BE(batch.readInt32BE(8) - 1, 8),
      };
      for (const [what, inflict] of Object.entries(damage)) {
        const batch = producer.batch(0, ['a', 'b']);
        inflict(batch);
        const { errorCode } = await producer.send(batch);
        assert.ok(
          errorCode === code.CORRUPT_MESSAGE || errorCode === code.INVALID_RECORD,
          `${what}: answered ${errorCode}`,
        );
      }
      assert.equal((await producer.send(producer.batch(0, ['whole']))).baseOffset, 0n);
      assert.deepEqual(await producer.values(), ['whole']);
    },
  ),

  defineTransportCase(
    ['C11', 'T1'],
    'an answer’s error code comes back as it was sent, and nothing is sent again',
    ['answer-errors', 'count-traffic'],
    async (transport, environment) => {
      const producer = await RawProducer.create(environment, transport);
      const seen = environment.faults.requestsSeen('produce');
      const codes = [...Object.values(code), 9999].filter((errorCode) => errorCode !== code.NONE);
      for (const errorCode of codes) {
        environment.faults.answer({ api: 'produce', times: 1 }, { errorCode, carriedOut: false, logStartOffset: 42n });
        const result = await producer.send(producer.batch(0, ['x']));
        assert.equal(result.errorCode, errorCode);
        assert.equal(result.logStartOffset, 42n);
      }
      assert.equal(environment.faults.requestsSeen('produce') - seen, codes.length);
      assert.deepEqual(await producer.values(), []);
    },
  ),

  defineTransportCase(
    ['C11', 'T1'],
    'an error answered to initProducerId rejects with a ProtocolError that carries the code',
    ['answer-errors'],
    async (transport, environment) => {
      environment.faults.answer(
        { api: 'initProducerId', times: 1 },
        { errorCode: code.COORDINATOR_LOAD_IN_PROGRESS, carriedOut: false },
      );
      await assert.rejects(transport.initProducerId(), (error: unknown) => {
        assert.ok(error instanceof ProtocolError, `a ProtocolError, not ${String(error)}`);
        assert.equal(error.errorCode, code.COORDINATOR_LOAD_IN_PROGRESS);
        return true;
      });
      assert.ok((await transport.initProducerId()).producerId >= 0n);
    },
  ),

  defineTransportCase(
    ['C11', 'T1'],
    'a broker that does not lead the partition answers NOT_LEADER_OR_FOLLOWER',
    ['several-brokers'],
    async (transport, environment) => {
      const topic = await environment.createTopic({ partitions: 1, replicationFactor: 3 });
      const producer = await RawProducer.create(environment, transport, { topic });
      const { brokers } = await transport.metadata([topic]);
      const follower = brokers.find(({ brokerId }) => brokerId !== producer.brokerId)!;
      const [result] = await transport.produce(follower.brokerId, producer.request(producer.batch(0, ['wrong door'])));
      assert.equal(result?.errorCode, code.NOT_LEADER_OR_FOLLOWER);
      assert.deepEqual(await producer.values(), []);
    },
  ),

  defineTransportCase(
    ['M6', 'T1'],
    'a new leader recognises what the old one stored',
    ['several-brokers', 'move-leaders'],
    async (transport, environment) => {
      const topic = await environment.createTopic({ partitions: 1, replicationFactor: 3 });
      const before = await RawProducer.create(environment, transport, { topic });
      const batches = repeat('v', 3).map((value, index) => before.batch(index, [value]));
      for (const batch of batches) assert.equal((await before.send(batch)).errorCode, code.NONE);
      await environment.moveLeader(topic, 0);
      await eventually(
        environment,
        'another leader',
        async () => (await leaderOf(transport, topic, 0)) !== before.brokerId,
      );
      const brokerId = await leaderOf(transport, topic, 0);
      for (const [index, batch] of batches.entries()) {
        const [result] = await transport.produce(brokerId, before.request(batch));
        assert.deepEqual([result?.errorCode, result?.baseOffset], [code.NONE, BigInt(index)]);
      }
      assert.deepEqual(await before.values(), repeat('v', 3));
    },
  ),
];
