import type { Consumer, EachBatchPayload, EachMessagePayload, KafkaMessage } from 'kafkajs';
import { describe, expect, it } from 'vitest';
import { createDeduplicator } from './deduplicator.ts';
import { memoryStore } from './memory-store.ts';

function kafkaMessage(offset: number, key: string, value = 'payload'): KafkaMessage {
  return {
    key: null,
    value: Buffer.from(value),
    timestamp: '0',
    attributes: 0,
    offset: String(offset),
    headers: { 'idempotency-key': Buffer.from(key) },
  };
}

function messagePayload(message: KafkaMessage): EachMessagePayload {
  return { topic: 'payments', partition: 3, message, heartbeat: async () => {}, pause: () => () => {} };
}

/** kafkajs's payload of a batch, with what it is told. */
function batchPayload(messages: KafkaMessage[]) {
  const told: string[] = [];
  const payload = {
    batch: { topic: 'payments', partition: 3, messages },
    resolveOffset: (offset: string) => told.push(offset),
    heartbeat: async () => {
      told.push('heartbeat');
    },
  } as unknown as EachBatchPayload;
  return { payload, told };
}

describe('eachMessage', () => {
  it('fits kafkajs, and hands the handler kafkajs’s own message', async () => {
    const dedup = createDeduplicator({ store: memoryStore(), namespace: 'n' });
    const seen: KafkaMessage[] = [];
    const eachMessage: NonNullable<Parameters<Consumer['run']>[0]>['eachMessage'] = dedup.eachMessage(
      (message: KafkaMessage) => {
        seen.push(message);
      },
    );
    const message = kafkaMessage(5, 'a');
    await eachMessage!(messagePayload(message));
    await eachMessage!(messagePayload(kafkaMessage(6, 'a')));
    expect(seen).toEqual([message]);
    expect(seen[0]).toBe(message);
    const repeat = await dedup.process(kafkaMessage(7, 'a'), () => undefined);
    expect(repeat).toMatchObject({
      status: 'duplicate',
      first: { source: { topic: 'payments', partition: 3, offset: 5n } },
    });
  });

  it('D2: throws the handler’s own error, so that kafkajs delivers the message again', async () => {
    const error = new Error('handler');
    const dedup = createDeduplicator({ store: memoryStore(), namespace: 'n' });
    const eachMessage = dedup.eachMessage(() => {
      throw error;
    });
    await expect(eachMessage(messagePayload(kafkaMessage(5, 'a')))).rejects.toBe(error);
  });

  it('D2: goes past a message only when the caller has decided so', async () => {
    const dedup = createDeduplicator({ store: memoryStore(), namespace: 'n' });
    const decided: string[] = [];
    const fail = (): never => {
      throw new Error('poison');
    };
    const eachMessage = dedup.eachMessage(fail, {
      onUncommittable: (outcome, message: KafkaMessage, { topic, partition }) => {
        decided.push(`${outcome.status} ${topic} ${partition} ${message.offset}`);
        return message.offset === '5' ? 'commit' : 'throw';
      },
    });
    await eachMessage(messagePayload(kafkaMessage(5, 'a')));
    await expect(eachMessage(messagePayload(kafkaMessage(6, 'b')))).rejects.toThrow('poison');
    expect(decided).toEqual(['failed payments 3 5', 'failed payments 3 6']);
  });
});

describe('eachBatch', () => {
  it('resolves offsets as it goes, part by part', async () => {
    const dedup = createDeduplicator({ store: memoryStore(), namespace: 'n' });
    const parts: number[] = [];
    const eachBatch = dedup.eachBatch((fresh: readonly KafkaMessage[]) => void parts.push(fresh.length), {
      maxMessages: 2,
    });
    const { payload, told } = batchPayload([1, 2, 3].map((offset) => kafkaMessage(offset, `k${offset}`)));
    await eachBatch(payload);
    expect(parts).toEqual([2, 1]);
    expect(told).toEqual(['1', '2', 'heartbeat', '3', 'heartbeat']);
  });

  it('D2: stops before the first message that may not be committed', async () => {
    const dedup = createDeduplicator({ store: memoryStore(), namespace: 'n' });
    const eachBatch = dedup.eachBatch(
      (fresh: readonly KafkaMessage[]) => {
        if (fresh.some(({ offset }) => offset === '2')) throw new Error('poison');
      },
      { isolate: 'message' },
    );
    const { payload, told } = batchPayload([1, 2, 3].map((offset) => kafkaMessage(offset, `k${offset}`)));
    await expect(eachBatch(payload)).rejects.toThrow('poison');
    expect(told).toEqual(['1']);
  });
});
