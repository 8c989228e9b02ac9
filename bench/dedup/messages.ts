const VALUE = Buffer.alloc(100, 'v');
let next = 0;

export interface BenchMessage {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly value: Buffer;
  readonly headers: { readonly 'idempotency-key': string };
}

/** Messages with keys never used before. */
export function freshMessages(count: number): BenchMessage[] {
  return Array.from({ length: count }, () => {
    const offset = next++;
    return { topic: 'payments', partition: 0, offset, value: VALUE, headers: { 'idempotency-key': freshKey(offset) } };
  });
}

/** As random as a UUID, so that an index is not appended to in order. */
export function freshKey(number: number): string {
  return `${((number * 2_654_435_761) % 2 ** 32).toString(16).padStart(8, '0')}-payment-${process.pid}-${number}`;
}
