import { type LeaseStore, memoryStore } from '@sendonce/consumer-dedup';
import { redisStore } from '@sendonce/consumer-dedup/redis';
import { Redis } from 'ioredis';

export type NotificationsOption = 'memory' | { readonly redisUrl: string };

/** Where the notification consumer keeps its keys. */
export interface NotificationKeys {
  readonly store: LeaseStore;
  close(): Promise<void>;
}

const commandTimeoutMs = 3_000;

export function openNotificationKeys(option: NotificationsOption, onError: (error: Error) => void): NotificationKeys {
  if (option === 'memory') return { store: memoryStore(), close: async () => {} };
  // Fails at once while there is no connection: the consumer waits by itself, and knows why.
  const client = new Redis(option.redisUrl, {
    commandTimeout: commandTimeoutMs,
    maxRetriesPerRequest: 1,
    enableReadyCheck: true,
  });
  client.on('error', onError);
  return { store: redisStore({ client }), close: async () => client.disconnect() };
}
