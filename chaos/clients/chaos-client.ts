import type { ProducerHooks } from '@sendonce/producer-core';

/** A producer in the storm: one record a call, idempotence on, everything else as the client comes. */
export interface ChaosClient {
  /** Resolves when the record is acknowledged. Rejects when the client gives up; `fate` says what it knows then. */
  send(partition: number, value: string): Promise<void>;
  /** Ends it, whatever is still pending. */
  close(): Promise<void>;
}

export interface ClientSetup {
  readonly bootstrap: readonly string[];
  readonly topic: string;
  /** Default: what the client comes with. */
  readonly requestTimeoutMs?: number | undefined;
  /** For telemetry, where the client is sendonce. */
  readonly hooks?: ProducerHooks | undefined;
}

export type StartChaosClient = (setup: ClientSetup) => Promise<ChaosClient>;

export const closeTimeoutMs = 10_000;

/** Waits for `closing`, but no longer than `closeTimeoutMs`: some clients wait for ever for what is pending. */
export async function closeInTime(closing: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, closeTimeoutMs);
  });
  await Promise.race([closing.catch(() => {}), timeout]);
  clearTimeout(timer);
}
