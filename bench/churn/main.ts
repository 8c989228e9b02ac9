/**
 * What a producer for each request costs a real cluster, against one shared pool (rule C16):
 *
 *   npm run bench:churn -- [--requests 1000] [--callers 10] [--partitions 10]
 *
 * Three brokers, three replicas. A request sends one record to each partition. Needs a JDK, for `jcmd`.
 */
import { parseArgs } from 'node:util';
import { createProducer, createProducerPool, type ProducerHooks } from '@sendonce/producer-core';
import { describedProducers, type KafkaCluster, startKafka } from '@sendonce/test-services';
import { createKafkaTransport } from '@sendonce/transport-kafka';
import { type BrokerHeap, brokerHeap } from './broker-heap.ts';

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '1000' },
    callers: { type: 'string', default: '10' },
    partitions: { type: 'string', default: '10' },
  },
});
const [requests, callers, partitions] = [values.requests, values.callers, values.partitions].map(Number) as [
  number,
  number,
  number,
];
const brokers = 3;
const poolSize = 2;
/** Below that, what else a broker does outweighs it. */
const measurableEntries = 1_000;

let identityRequests = 0;
const hooks: ProducerHooks = { onProducerIdRequested: () => identityRequests++ };
const logger = { info: () => {}, warn: console.error };

function newProducer({ bootstrap }: KafkaCluster) {
  return createProducer({ transport: createKafkaTransport({ brokers: bootstrap, clientId: 'churn' }), hooks, logger });
}

const recordsFor = (topic: string) =>
  Array.from({ length: partitions }, (_, partition) => ({ topic, partition, value: 'x'.repeat(100) }));

type Handle = () => Promise<void>;

/** Every request makes a producer, uses it once, and closes it. */
async function eachItsOwn(kafka: KafkaCluster, topic: string): Promise<{ handle: Handle; close: Handle }> {
  return {
    handle: async () => {
      await using producer = await newProducer(kafka);
      await producer.sendBatch(recordsFor(topic));
    },
    close: async () => {},
  };
}

async function sharedPool(kafka: KafkaCluster, topic: string): Promise<{ handle: Handle; close: Handle }> {
  const pool = createProducerPool({ create: () => newProducer(kafka), size: poolSize });
  return {
    handle: async () => {
      await Promise.all(recordsFor(topic).map((record) => pool.send(record)));
    },
    close: () => pool.close(),
  };
}

interface Measured {
  readonly identityRequests: number;
  readonly entries: number;
  readonly heapBytes: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly perSecond: number;
}

const heaps = async (kafka: KafkaCluster): Promise<BrokerHeap[]> =>
  Promise.all(kafka.brokerIds.map((brokerId) => brokerHeap(kafka.pid(brokerId))));
const sum = (all: readonly BrokerHeap[], of: (heap: BrokerHeap) => number) =>
  all.reduce((total, heap) => total + of(heap), 0);

async function measure(
  kafka: KafkaCluster,
  topic: string,
  way: (kafka: KafkaCluster, topic: string) => Promise<{ handle: Handle; close: Handle }>,
): Promise<Measured> {
  await kafka.createTopic({ topic, partitions, replicationFactor: brokers });
  // A new topic and a young cluster are slow once; that is not what is measured.
  const first = await way(kafka, topic);
  await first.handle();
  await first.close();
  const before = await heaps(kafka);
  identityRequests = 0;
  const latenciesMs: number[] = [];
  const { handle, close } = await way(kafka, topic);
  let left = requests;
  const startedMs = performance.now();
  await Promise.all(
    Array.from({ length: callers }, async () => {
      while (left-- > 0) {
        const atMs = performance.now();
        await handle();
        latenciesMs.push(performance.now() - atMs);
      }
    }),
  );
  const perSecond = requests / ((performance.now() - startedMs) / 1000);
  await close();
  const after = await heaps(kafka);
  latenciesMs.sort((a, b) => a - b);
  return {
    identityRequests,
    entries: sum(after, ({ entries }) => entries) - sum(before, ({ entries }) => entries),
    heapBytes: sum(after, ({ stateBytes }) => stateBytes) - sum(before, ({ stateBytes }) => stateBytes),
    p50Ms: latenciesMs[Math.floor(latenciesMs.length * 0.5)]!,
    p99Ms: latenciesMs[Math.floor(latenciesMs.length * 0.99)]!,
    perSecond,
  };
}

await using kafka = await startKafka({ brokers, jvmArgs: ['-Xms512m', '-Xmx1g', '-XX:+UseG1GC'], config: {} });
const count = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const ways = { 'one shared pool': sharedPool, 'a producer for each request': eachItsOwn };
console.log(
  `Node ${process.version}, three brokers, three replicas, ${partitions} partitions, ${count.format(requests)} requests from ${callers} callers\n`,
);
console.log(
  '| way | producer ids asked for | entries in the brokers’ producer state | entries of partition 0 by DescribeProducers | their heap, bytes | bytes an entry | p50 ms | p99 ms | requests/s |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |',
);
let bytesPerEntry = 0;
for (const [name, way] of Object.entries(ways)) {
  const topic = name.replaceAll(' ', '-');
  const result = await measure(kafka, topic, way);
  bytesPerEntry = result.heapBytes / result.entries;
  const cells = [
    name,
    count.format(result.identityRequests),
    count.format(result.entries),
    count.format(await describedProducers(kafka, topic)),
    result.entries < measurableEntries ? 'too little to measure' : count.format(result.heapBytes),
    result.entries < measurableEntries ? '' : count.format(bytesPerEntry),
    result.p50Ms.toFixed(1),
    result.p99Ms.toFixed(1),
    count.format(result.perSecond),
  ];
  console.log(`| ${cells.join(' | ')} |`);
}
console.log(
  `\nheap of all brokers = ${count.format(bytesPerEntry)} bytes × producers a day × partitions each writes to × replicas`,
);
