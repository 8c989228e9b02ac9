import { createProducer } from '@sendonce/producer-core';
import { createMemoryCluster } from '@sendonce/transport-memory';

const cluster = createMemoryCluster({ brokers: 3, topics: { payments: { replicationFactor: 3 } } });
await using producer = await createProducer({ transport: cluster.transport(), requestTimeoutMs: 200 });

cluster.faults.loseReply({ topic: 'payments' }); // stored, and nobody will hear of it
const { offset } = await producer.send({ topic: 'payments', value: 'payment of 12.50' });
console.log(offset, cluster.dump('payments', 0).length); // 0n 1: sent twice, stored once

cluster.broker(cluster.partition('payments', 0).leader).kill(); // its followers know what it knew
await producer.send({ topic: 'payments', value: 'payment of 7.20' });
