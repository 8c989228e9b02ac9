import { once } from 'node:events';
import { createMemoryCluster, type MemoryCluster } from '@sendonce/transport-memory';
import { memoryPaymentsCluster } from './cluster/memory-payments-cluster.ts';
import { type PaymentSystem, type PaymentSystemOptions, startPaymentSystem } from './payment-system.ts';
import type { Reconciliation } from './reconcile/reconciliation.ts';

/** Starting PGlite is seconds of work, and the machine may be busy. */
export const pgliteStartMs = 60_000;

/** Short times, so that a test need not wait. */
export const quickTimes = {
  maxBlockMs: 1_000,
  requestTimeoutMs: 200,
  deliveryTimeoutMs: 1_500,
  retryBackoffMs: 10,
} as const;

export const order = { from: 'account-1', to: 'account-2', amountMinor: 2_000, currency: 'EUR' } as const;

export interface MemorySystem {
  readonly cluster: MemoryCluster;
  readonly system: PaymentSystem;
}

/** The whole system in this process, on a free port. */
export async function startMemorySystem(options: Partial<PaymentSystemOptions> = {}): Promise<MemorySystem> {
  const cluster = createMemoryCluster({ brokers: 3 });
  const system = await startPaymentSystem({
    cluster: memoryPaymentsCluster(cluster),
    database: 'pglite',
    notifications: 'memory',
    port: 0,
    logger: false,
    times: quickTimes,
    ...options,
  });
  return { cluster, system };
}

/** The books, when everything in the log has been applied and told. */
export async function settledBooks(system: PaymentSystem): Promise<Reconciliation> {
  for (;;) {
    const another = once(system.events, 'message-outcome');
    const books = await system.reconcile();
    if (books.waitingForLedger === 0 && books.waitingForNotification === 0) return books;
    await another;
  }
}

/** Resolves when the ledger's de-duplication has recognised a record, of this key or of any. */
export function recognised({ events }: PaymentSystem, key: string | null = null): Promise<void> {
  return new Promise((resolve) => {
    events.on('message-outcome', (outcome) => {
      const isMeant = key === null || outcome.key === key;
      if (outcome.consumer === 'ledger' && isMeant && outcome.status === 'duplicate') resolve();
    });
  });
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: { readonly [field: string]: unknown };
  readonly text: string;
}

/** POST /payments; `body` as text is sent as it is. */
export async function post(
  { url }: { readonly url: string },
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const response = await fetch(`${url}/payments`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: JSON.parse(text), text };
}
