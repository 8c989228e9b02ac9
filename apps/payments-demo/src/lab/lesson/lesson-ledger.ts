import { createDeduplicator, memoryStore } from '@sendonce/consumer-dedup';
import type { ConsumedRecord, MemoryCluster } from '@sendonce/transport-memory';
import { topic } from '../../scenes/payments.ts';
import type { SystemEventEmitter } from '../../system/events.ts';

const amountMinor = 2_000;

/** The lesson's consumer: applies each payment once, by its key. Keys and balances live in memory, as the whole lesson does. */
export class LessonLedger {
  readonly #cluster: MemoryCluster;
  readonly #events: SystemEventEmitter;
  readonly #dedup = createDeduplicator({ store: memoryStore(), namespace: 'ledger' });

  constructor(cluster: MemoryCluster, events: SystemEventEmitter) {
    this.#cluster = cluster;
    this.#events = events;
  }

  /** @param records How many there are. */
  async readAll(records: number): Promise<void> {
    await using consumer = this.#cluster.consumer({ groupId: 'ledger', topics: [topic] });
    this.#events.emit('consumer-started', { consumer: 'ledger' });
    let left = records;
    for await (const record of consumer) {
      await this.#apply(record);
      left -= 1;
      if (left === 0) break;
    }
    await consumer.commit();
    await this.#dedup.close();
  }

  async #apply(record: ConsumedRecord): Promise<void> {
    const outcome = await this.#dedup.process(record, async () => undefined);
    const place = { topic, partition: record.partition, offset: record.offset };
    const key = outcome.key?.toString('utf8') ?? '';
    const { status } = outcome;
    const firstOffset = status === 'duplicate' || status === 'conflict' ? outcome.first.source.offset : null;
    this.#events.emit('message-outcome', { consumer: 'ledger', ...place, key, status, firstOffset });
    if (status !== 'processed') return;
    const from = Buffer.from(record.key ?? []).toString('utf8');
    this.#events.emit('payment-applied', { paymentId: key, key, ...place, from, to: 'shop', amountMinor });
  }
}
