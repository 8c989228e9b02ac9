import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { type KafkaCluster, startKafka, withAdmin } from '@sendonce/test-services';

export interface TargetOptions {
  readonly brokers: 1 | 3;
  readonly partitions: number;
  readonly tls: boolean;
}

/** What the clients send to. */
export interface Target extends AsyncDisposable {
  /** For people. */
  readonly name: string;
  readonly bootstrap: readonly string[];
  /** PEM of the authority, for TLS. */
  readonly ca: string | undefined;
  /** Absent when it is only a program that throws records away. */
  readonly kafka: KafkaCluster | undefined;
  readonly pids: readonly number[];
  withTopic<T>(topic: string, use: () => Promise<T>): Promise<T>;
}

const jvmArgs = { 1: ['-Xms1g', '-Xmx1g', '-XX:+UseG1GC'], 3: ['-Xms512m', '-Xmx768m', '-XX:+UseG1GC'] } as const;

export async function startKafkaTarget({ brokers, partitions, tls }: TargetOptions): Promise<Target> {
  const kafka = await startKafka({
    brokers,
    jvmArgs: jvmArgs[brokers],
    config: { 'log.segment.delete.delay.ms': 100 },
    ...(tls ? { secured: { users: { bench: 'bench-secret' } } } : {}),
  });
  return {
    name: brokers === 1 ? '1 broker' : `${brokers} brokers, ${brokers} replicas`,
    bootstrap: kafka.secured?.tls ?? kafka.bootstrap,
    ca: kafka.secured?.ca,
    kafka,
    pids: kafka.brokerIds.map((brokerId) => kafka.pid(brokerId)),
    withTopic: async (topic, use) => {
      await kafka.createTopic({ topic, partitions, replicationFactor: brokers });
      try {
        return await use();
      } finally {
        await withAdmin(kafka.bootstrap, (admin) => admin.deleteTopics({ topics: [topic] }));
      }
    },
    [Symbol.asyncDispose]: () => kafka.stop(),
  };
}

async function firstLine(child: ChildProcess): Promise<string> {
  const [chunk] = (await once(child.stdout!, 'data')) as [Buffer];
  return String(chunk).trim();
}

/** `discard-broker.ts` in a process of its own: then nothing limits but the client. */
export async function startDiscardTarget(): Promise<Target> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'discard-broker.ts')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return {
    name: 'a program that answers and throws away',
    bootstrap: [await firstLine(child)],
    ca: undefined,
    kafka: undefined,
    pids: child.pid === undefined ? [] : [child.pid],
    withTopic: (_, use) => use(),
    [Symbol.asyncDispose]: async () => {
      const ended = once(child, 'exit');
      child.kill();
      await ended;
    },
  };
}
