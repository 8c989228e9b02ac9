import { IdempotencyConfig, makeIdempotent } from '@aws-lambda-powertools/idempotency';
import { CachePersistenceLayer } from '@aws-lambda-powertools/idempotency/cache';
import type { Redis } from 'ioredis';
import { type BenchMessage, freshMessages } from './messages.ts';
import type { Subject } from './turns.ts';

/** As long as a claim of ours is held. */
const LEASE_MS = 30_000;

/** Powertools' way on the same Redis: a call for each message, keyed by its header, the payload not compared. */
export function powertoolsSubject(client: Redis, size: number, retentionMs: number): Subject {
  const persistenceStore = new CachePersistenceLayer({
    client: {
      get: (name) => client.get(name),
      set: (name, value, options) => setWith(client, String(name), String(value), options as SetOptions | undefined),
      del: (names) => client.del(names),
    },
  });
  const config = new IdempotencyConfig({
    eventKeyJmesPath: 'key',
    expiresAfterSeconds: retentionMs / 1000,
    throwOnNoIdempotencyKey: true,
  });
  // Without one it warns at every call, and records no end of being in progress.
  const lambda = { getRemainingTimeInMillis: () => LEASE_MS } as Parameters<
    IdempotencyConfig['registerLambdaContext']
  >[0];
  config.registerLambdaContext(lambda);
  const handle = makeIdempotent(async (_: { key: string }) => null, { persistenceStore, config });
  const process = ({ headers }: BenchMessage): Promise<unknown> => handle({ key: headers['idempotency-key'] });
  return {
    name: 'Powertools',
    units: size,
    async work() {
      await Promise.all(freshMessages(size).map(process));
    },
  };
}

interface SetOptions {
  readonly EX?: number;
  readonly NX?: boolean;
}

/** The client that Powertools expects is node-redis; ioredis takes the options as words. */
function setWith(client: Redis, name: string, value: string, { EX, NX }: SetOptions = {}): Promise<string | null> {
  if (EX !== undefined) return NX ? client.set(name, value, 'EX', EX, 'NX') : client.set(name, value, 'EX', EX);
  return NX ? client.set(name, value, 'NX') : client.set(name, value);
}
