import { setTimeout as sleep } from 'node:timers/promises';
import { type KafkaCluster, rawRequest, withAdmin } from '@sendonce/test-services';
import { KafkaJSProtocolError } from 'kafkajs';

const electLeadersKey = 43;
const preferredElection = 0;
const timeoutMs = 20_000;

export interface PartitionPlace {
  readonly leader: number;
  readonly replicas: readonly number[];
  readonly inSync: readonly number[];
}

/** `undefined` while the broker that was asked has not heard of the topic. */
async function placeOf(kafka: KafkaCluster, topic: string, partition: number): Promise<PartitionPlace | undefined> {
  return withAdmin(kafka.bootstrap, async (admin) => {
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
    const found = topics[0]?.partitions.find(({ partitionId }) => partitionId === partition);
    return found && { leader: found.leader, replicas: found.replicas, inSync: found.isr };
  }).catch((error: Error) => {
    if (error instanceof KafkaJSProtocolError && error.type === 'UNKNOWN_TOPIC_OR_PARTITION') return undefined;
    throw error;
  });
}

export async function untilPlaced(
  kafka: KafkaCluster,
  topic: string,
  isReached: (place: PartitionPlace) => boolean,
  partition = 0,
): Promise<PartitionPlace> {
  const endMs = performance.now() + timeoutMs;
  for (;;) {
    const place = await placeOf(kafka, topic, partition);
    if (place && isReached(place)) return place;
    if (performance.now() > endMs) throw new Error(`${topic}-${partition} stays at ${JSON.stringify(place)}`);
    await sleep(20);
  }
}

/** Has other brokers hold the partition, as kafka-reassign-partitions does. The first one is its preferred leader. */
export async function reassign(
  kafka: KafkaCluster,
  topic: string,
  replicas: readonly number[],
  partition = 0,
): Promise<void> {
  await withAdmin(kafka.bootstrap, (admin) =>
    admin.alterPartitionReassignments({
      topics: [{ topic, partitionAssignment: [{ partition, replicas: [...replicas] }] }],
    }),
  );
}

/** Moves the leadership to the next in-sync replica, as kafka-leader-election does. Resolves with the new leader. */
export async function moveLeader(kafka: KafkaCluster, topic: string, partition = 0): Promise<number> {
  const { leader, replicas } = await untilPlaced(
    kafka,
    topic,
    ({ replicas: all, inSync }) => inSync.length === all.length,
    partition,
  );
  const at = replicas.indexOf(leader) + 1;
  const preferred = [...replicas.slice(at), ...replicas.slice(0, at)];
  await reassign(kafka, topic, preferred, partition);
  await untilPlaced(kafka, topic, ({ replicas: now }) => now[0] === preferred[0], partition);
  const name = Buffer.from(topic);
  const body = Buffer.alloc(1 + 4 + 2 + name.length + 4 + 4 + 4);
  body.writeInt8(preferredElection, 0);
  body.writeInt32BE(1, 1);
  body.writeInt16BE(name.length, 5);
  name.copy(body, 7);
  body.writeInt32BE(1, 7 + name.length);
  body.writeInt32BE(partition, 11 + name.length);
  body.writeInt32BE(timeoutMs, 15 + name.length);
  await rawRequest(kafka.brokerPort(leader), electLeadersKey, 1, body, timeoutMs);
  await untilPlaced(kafka, topic, ({ leader: now }) => now === preferred[0], partition);
  return preferred[0]!;
}
