import type { ChaosClient, ClientSetup } from './chaos-client.ts';
import { startKafkaTs } from './kafka-ts.ts';
import { startKafkajs } from './kafkajs.ts';
import { startPlatformatic } from './platformatic.ts';
import { startSendonce } from './sendonce.ts';

export const clients: Readonly<Record<string, (setup: ClientSetup) => Promise<ChaosClient>>> = {
  sendonce: startSendonce,
  kafkajs: startKafkajs,
  'kafka-ts': startKafkaTs,
  platformatic: startPlatformatic,
};
