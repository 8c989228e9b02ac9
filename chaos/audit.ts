/** What became of one record, as its client told. */
export interface SentRecord {
  readonly partition: number;
  /** Counts up within the partition, in the order of the calls. */
  readonly serial: number;
  readonly sentAtMs: number;
  outcome: 'pending' | 'acknowledged' | 'failed';
  settledAtMs?: number;
  /** `unknown` or `not-stored`, where the client tells. */
  fate?: string;
}

export interface Audit {
  readonly sent: number;
  readonly acknowledged: number;
  readonly pending: number;
  readonly failedNotStored: number;
  readonly failedUnknown: number;
  /** Records stored more than once: copies beyond the first. */
  readonly duplicates: number;
  /** Acknowledged, and not in the log. */
  readonly lost: number;
  /** Acknowledged records that are stored behind one that was sent after them. */
  readonly disorder: number;
  /** Reported as certainly not stored, and stored all the same. */
  readonly wrongFates: number;
  readonly latencyMs: { readonly p50: number; readonly p99: number; readonly max: number };
  readonly longestPauseMs: number;
}

const keyOf = (partition: number, serial: number) => `${partition}:${serial}`;

/** Holds what the client said against what the log holds. `stored` is in the log's order within each partition. */
export function audit(
  sent: readonly SentRecord[],
  stored: readonly { readonly partition: number; readonly serial: number }[],
): Audit {
  const copies = new Map<string, number>();
  for (const { partition, serial } of stored)
    copies.set(keyOf(partition, serial), (copies.get(keyOf(partition, serial)) ?? 0) + 1);
  const acknowledged = sent.filter(({ outcome }) => outcome === 'acknowledged');
  const failed = sent.filter(({ outcome }) => outcome === 'failed');
  const isStored = ({ partition, serial }: SentRecord) => copies.has(keyOf(partition, serial));
  const latencies = acknowledged.map(({ sentAtMs, settledAtMs }) => settledAtMs! - sentAtMs).sort((a, b) => a - b);
  const at = (share: number) =>
    Math.round(latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? 0);
  const notStored = failed.filter(({ fate }) => fate === 'not-stored');
  return {
    sent: sent.length,
    acknowledged: acknowledged.length,
    pending: sent.length - acknowledged.length - failed.length,
    failedNotStored: notStored.length,
    failedUnknown: failed.length - notStored.length,
    duplicates: [...copies.values()].reduce((sum, count) => sum + count - 1, 0),
    lost: acknowledged.filter((record) => !isStored(record)).length,
    disorder: countDisorder(stored, new Set(acknowledged.map(({ partition, serial }) => keyOf(partition, serial)))),
    wrongFates: notStored.filter(isStored).length,
    latencyMs: { p50: at(0.5), p99: at(0.99), max: at(1) },
    longestPauseMs: longestPause(acknowledged),
  };
}

function countDisorder(
  stored: readonly { readonly partition: number; readonly serial: number }[],
  acknowledged: ReadonlySet<string>,
): number {
  const highest = new Map<number, number>();
  const seen = new Set<string>();
  let disorder = 0;
  for (const { partition, serial } of stored) {
    const key = keyOf(partition, serial);
    if (seen.has(key) || !acknowledged.has(key)) continue;
    seen.add(key);
    const before = highest.get(partition) ?? -1;
    if (serial < before) disorder++;
    else highest.set(partition, serial);
  }
  return disorder;
}

/** The longest time in which no record was acknowledged, from the first call on. */
function longestPause(acknowledged: readonly SentRecord[]): number {
  const times = acknowledged.map(({ settledAtMs }) => settledAtMs!).sort((a, b) => a - b);
  let longest = 0;
  for (let i = 1; i < times.length; i++) longest = Math.max(longest, times[i]! - times[i - 1]!);
  return Math.round(longest);
}
