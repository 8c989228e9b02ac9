import type { Socket } from 'node:net';

export interface BrokerAddress {
  readonly host: string;
  readonly port: number;
}

export const addressText = ({ host, port }: BrokerAddress) => `${host}:${port}`;

/** A connection that is ready for requests: connected, encrypted where asked for, authenticated where asked for. */
export interface OpenConnection {
  readonly socket: Socket;
  /**
   * Hands on bytes as they arrive, from the first one that the opener did not use itself. A chunk may be overwritten after the
   * call. Called once.
   */
  onData(listener: (chunk: Buffer) => void): void;
  /** How long the broker lets this session live (KIP-368), in milliseconds; 0 when it did not say. */
  readonly sessionLifetimeMs: number;
}

/**
 * Opens connections: the one thing this package leaves to another library. Whoever writes another opener provides this, and
 * rejects with a `TransportError` whose `sent` is `'no'` (code `AUTHENTICATION_FAILED` and not retriable where credentials are
 * wrong), without a secret in its message or cause. After `signal` aborts, nothing of the attempt may be left.
 */
export interface ConnectionOpener {
  open(address: BrokerAddress, signal: AbortSignal): Promise<OpenConnection>;
}
