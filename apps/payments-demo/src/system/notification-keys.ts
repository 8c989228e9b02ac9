import { type LeaseStore, memoryStore } from '@sendonce/consumer-dedup';
import { redisStore } from '@sendonce/consumer-dedup/redis';
import { Redis } from 'ioredis';

export type NotificationsOption = 'memory' | { readonly redisUrl: string };

/** Where the notification consumer keeps its keys. */
export interface NotificationKeys {
  readonly store: LeaseStore;
  /** Rejects when they can't be reached. */
  check(): Promise<void>;
  close(): Promise<void>;
}

const commandTimeoutMs = 3_000;

export function openNotificationKeys(option: NotificationsOption, onError: (error: Error) => void): NotificationKeys {
  if (option === 'memory') return { store: memoryStore(), check: async () => {}, close: async () => {} };
  // Fails at once while there is no connection: the consumer waits by itself, and knows why.
  const client = new Redis(option.redisUrl, {
    commandTimeout: commandTimeoutMs,
    maxRetriesPerRequest: 1,
    enableReadyCheck: true,
  });
  let lastError: Error | null = null;
  client.on('error', (error: Error) => {
    lastError = error;
    onError(error);
  });
  return {
    store: redisStore({ client }),
    check: async () => {
      // The command's own error tells how often it was tried; the connection's tells why that failed.
      await client.ping().catch((error: Error) => Promise.reject(lastError ?? error));
    },
    close: async () => client.disconnect(),
  };
}
