export interface RecordShape {
  readonly topic: string;
  readonly valueBytes: number;
  readonly partitions: number;
  readonly compression?: string | undefined;
}

export interface BenchRecord {
  readonly topic: string;
  readonly value: string;
  readonly key?: string;
}

const variety = 1_000;

/** JSON of about that size, as services send it: field names that repeat, values that do not. */
function jsonValue(bytes: number): string {
  const parts: string[] = [];
  for (let size = 0; size < bytes; size = parts.join(',').length) {
    parts.push(`"field${parts.length}":"${Math.random().toString(36).slice(2, 10)}"`);
  }
  return Buffer.from(`{${parts.join(',')}}`.slice(0, bytes).padEnd(bytes)).toString('latin1');
}

/** Returns what hands out records: always the same one, or by turns where it matters to codecs and partitions. */
export function recordsOf({ topic, valueBytes, partitions, compression }: RecordShape): () => BenchRecord {
  if (compression === undefined && partitions === 1) {
    const record = { topic, value: 'x'.repeat(valueBytes) };
    return () => record;
  }
  const records = Array.from({ length: variety }, (_, i) => ({
    topic,
    value: compression === undefined ? 'x'.repeat(valueBytes) : jsonValue(valueBytes),
    ...(partitions === 1 ? {} : { key: `account-${i}` }),
  }));
  let at = 0;
  return () => records[at++ % variety]!;
}
