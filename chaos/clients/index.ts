import type { StartChaosClient } from './chaos-client.ts';
import { startFranzGo } from './franz-go.ts';
import { startKafkaTs } from './kafka-ts.ts';
import { startKafkajs } from './kafkajs.ts';
import { startPlatformatic } from './platformatic.ts';
import { startSendonce } from './sendonce.ts';

export const clients: Readonly<Record<string, StartChaosClient>> = {
  sendonce: startSendonce,
  kafkajs: startKafkajs,
  'kafka-ts': startKafkaTs,
  platformatic: startPlatformatic,
  'franz-go': startFranzGo,
};
