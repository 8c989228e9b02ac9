import { randomUUID } from 'node:crypto';
import type { ConsumedMessage } from '../message.ts';

export interface TestMessage extends ConsumedMessage {
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint;
  readonly value: string;
  readonly headers: Readonly<Record<string, string | Buffer>>;
}

/** A message with the key `key` in its header. */
export function messageOf(key: string | Buffer, { offset = 0n, value = 'payload', partition = 0 } = {}): TestMessage {
  return { topic: 'payments', partition, offset, value, headers: { 'idempotency-key': key } };
}

/** Cases share a store; a name of their own keeps them apart. */
export function uniqueName(prefix: string): string {
  return `${prefix}-${randomUUID()}`;
}
