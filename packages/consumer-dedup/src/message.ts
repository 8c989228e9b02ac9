import { DedupConfigError } from './errors.ts';

export type HeaderValue = Uint8Array | string | null | undefined;

/**
 * Headers in any of the forms Node's Kafka clients use: an object (kafkajs, confluent's kafkajs API), a map
 * (`@platformatic/kafka`), pairs (producer-core, the memory broker), or one object per header (node-rdkafka).
 */
export type MessageHeaders =
  | Readonly<Record<string, HeaderValue | readonly HeaderValue[]>>
  | ReadonlyMap<string | Uint8Array, HeaderValue | readonly HeaderValue[]>
  | readonly (readonly [name: string | Uint8Array, value: HeaderValue])[]
  | readonly Readonly<Record<string, HeaderValue>>[];

/**
 * What is read of a consumed message. Structural, so that each client's own object fits without a copy and reaches
 * the handler as it is.
 */
export interface ConsumedMessage {
  readonly topic?: string | undefined;
  readonly partition?: number | undefined;
  readonly offset?: string | number | bigint | undefined;
  readonly key?: Uint8Array | string | null | undefined;
  readonly value?: Uint8Array | string | null | undefined;
  readonly headers?: MessageHeaders | null | undefined;
  readonly timestamp?: unknown;
}

/** Where a message lies in the log. Fields the client did not give are `null`. */
export interface MessageSource {
  readonly topic: string | null;
  readonly partition: number | null;
  readonly offset: bigint | null;
}

/** For clients whose messages lack topic and partition, such as kafkajs, where they are beside the message. */
export interface TopicPartition {
  readonly topic: string;
  readonly partition: number;
}

/** Where `message` lies; `at` supplies what the message itself does not carry. */
export function sourceOf(message: ConsumedMessage, at?: TopicPartition): MessageSource {
  return {
    topic: message.topic ?? at?.topic ?? null,
    partition: message.partition ?? at?.partition ?? null,
    offset: message.offset === undefined ? null : offsetOf(message.offset),
  };
}

function offsetOf(offset: string | number | bigint): bigint {
  if (typeof offset === 'string' && !/^-?\d+$/.test(offset)) {
    throw new DedupConfigError(`offset: is ${JSON.stringify(offset)}; it must be a whole number`, ['offset']);
  }
  return BigInt(offset);
}

type HeaderObject = Readonly<Record<string, HeaderValue | readonly HeaderValue[]>>;

/** The values of the header `name`, in order; `undefined` or `null` for one without a value. Kafka's header names are case-sensitive and may repeat. */
export function headerValues(headers: MessageHeaders | null | undefined, name: string): HeaderValue[] {
  if (headers === null || headers === undefined) return [];
  if (!isArray(headers) && !(headers instanceof Map)) {
    const value = ownValue(headers as HeaderObject, name);
    return isArray(value) ? [...value] : [value as HeaderValue];
  }
  const found: HeaderValue[] = [];
  const take = (value: HeaderValue | readonly HeaderValue[]): void => {
    if (Array.isArray(value)) found.push(...value);
    else found.push(value as HeaderValue);
  };
  if (headers instanceof Map) {
    for (const [key, value] of headers) if (nameOf(key) === name) take(value);
    return found;
  }
  for (const header of headers as readonly unknown[]) {
    if (!isArray(header)) take(ownValue(header as HeaderObject, name));
    else if (nameOf(header[0] as string | Uint8Array) === name) take(header[1] as HeaderValue);
  }
  return found;
}

function nameOf(name: string | Uint8Array): string {
  return typeof name === 'string' ? name : Buffer.from(name.buffer, name.byteOffset, name.byteLength).toString('utf8');
}

function ownValue(headers: HeaderObject, name: string): HeaderValue | readonly HeaderValue[] {
  return Object.hasOwn(headers, name) ? headers[name] : undefined;
}

function isArray(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}
