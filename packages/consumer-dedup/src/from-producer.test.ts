import { createProducer } from '@sendonce/producer-core';
import { createMemoryCluster } from '@sendonce/transport-memory';
import { expect, it } from 'vitest';
import { createDeduplicator } from './deduplicator.ts';
import { memoryStore } from './memory-store.ts';

it('D1: the key that a producer sets from the record is the one a consumer looks for', async () => {
  const cluster = createMemoryCluster({ brokers: 1, topics: { payments: { partitions: 1, replicationFactor: 1 } } });
  for (let session = 0; session < 2; session++) {
    await using producer = await createProducer({
      transport: cluster.transport(),
      idempotencyKey: ({ value }) => JSON.parse(String(value)).paymentId,
    });
    await producer.send({ topic: 'payments', value: JSON.stringify({ paymentId: 'p-1', amountMinor: 2000 }) });
  }
  const dedup = createDeduplicator({ store: memoryStore(), namespace: 'ledger' });
  const consumer = cluster.consumer({ groupId: 'ledger', topics: ['payments'] });
  const seen: unknown[] = [];
  for await (const record of consumer) {
    const { status, key } = await dedup.process(record, async () => undefined);
    seen.push([status, String(key)]);
    if (seen.length === 2) break;
  }
  expect(seen).toEqual([
    ['processed', 'p-1'],
    ['duplicate', 'p-1'],
  ]);
});
