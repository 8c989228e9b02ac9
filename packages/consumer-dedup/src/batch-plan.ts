import { fingerprintsDiffer } from './fingerprint.ts';
import type { MessageSource } from './message.ts';
import { type Failed, type FailureReason, type FirstRun, isCommittable, type Outcome } from './outcome.ts';
import type { StoredOffset, StoredRecord } from './store.ts';

/** A message with its key read. */
export interface Entry<M> {
  readonly message: M;
  /** Its place among the messages of the call. */
  readonly index: number;
  readonly key: Buffer;
  readonly fingerprint: Buffer | null;
  readonly source: MessageSource;
  readonly note: string | null;
}

/** A message of a call, or why its key could not be read. */
export type Read<M> = Entry<M> | Failed;

/** A key's first message in a call, and its repeats in the order they came. */
export interface KeyGroup<M> extends Entry<M> {
  readonly repeats: readonly Entry<M>[];
}

export function isEntry<M>(read: Read<M>): read is Entry<M> {
  return !('status' in read);
}

/**
 * One group for each different key, ordered by the key's bytes: every consumer claims the keys of its batch in this
 * order, so that two of them can't wait for each other (rule D5, R6), and asks for each key once (R5).
 */
export function groupByKey<M>(reads: readonly Read<M>[]): KeyGroup<M>[] {
  const groups = new Map<string, GrowingGroup<M>>();
  for (const read of reads) {
    if (!isEntry(read)) continue;
    const name = read.key.toString('latin1');
    const group = groups.get(name);
    if (group === undefined) {
      // Field by field: spread costs more than all the rest of this loop.
      const { message, index, key, fingerprint, source, note } = read;
      groups.set(name, { message, index, key, fingerprint, source, note, repeats: [] });
    } else group.repeats.push(read);
  }
  // Latin-1 names compare as their bytes do.
  return Array.from(groups.keys())
    .sort()
    .map((name) => groups.get(name)!);
}

interface GrowingGroup<M> extends Entry<M> {
  readonly repeats: Entry<M>[];
}

/** The outcome of an entry whose key was processed before. */
export function repeatOf<M>({ key, fingerprint }: Entry<M>, record: StoredRecord): Outcome<never> {
  const first: FirstRun = {
    processedAt: new Date(record.processedAtMs),
    source: record.source,
    note: record.note,
    result: record.result === null ? undefined : JSON.parse(record.result),
  };
  return { status: fingerprintsDiffer(record.fingerprint, fingerprint) ? 'conflict' : 'duplicate', key, first };
}

/** What a runner finds out about a group. */
export interface GroupOutcome<R> {
  readonly outcome: Outcome<R>;
  /** What later messages with the same key are repeats of. `null` when the key was not processed. */
  readonly record: StoredRecord | null;
}

/** What has been found out of the groups of a call. */
export type Found<M, R> = Map<KeyGroup<M>, GroupOutcome<R>>;

export function failed<M>({ key }: KeyGroup<M>, reason: FailureReason, error: unknown): GroupOutcome<never> {
  return { outcome: { status: 'failed', key, reason, error }, record: null };
}

/** Groups, or what holds one, as the messages came: handlers see messages in their order, whatever order keys are claimed in. */
export function inMessageOrder<T>(items: readonly T[], groupOf: (item: T) => { readonly index: number }): T[] {
  return items.toSorted((a, b) => groupOf(a).index - groupOf(b).index);
}

/** One outcome per message of the call, in order: repeats share the fate of their key's first message (rule D5). */
export function spread<M, R>(
  reads: readonly Read<M>[],
  groups: readonly KeyGroup<M>[],
  found: ReadonlyMap<KeyGroup<M>, GroupOutcome<R>>,
): Outcome<R>[] {
  const outcomes = reads.map((read) => (isEntry(read) ? null : read)) as Outcome<R>[];
  for (const group of groups) {
    const { outcome, record } = found.get(group)!;
    outcomes[group.index] = outcome;
    for (const repeat of group.repeats) {
      outcomes[repeat.index] = record === null ? outcome : repeatOf(repeat, record);
    }
  }
  return outcomes;
}

/**
 * Where each partition can go on: after its last message before the first one that may not be committed. Messages
 * without a topic, partition and offset have no place.
 */
export function nextOffsets(
  sources: readonly (MessageSource | Failed)[],
  outcomes: readonly Outcome[],
): StoredOffset[] {
  const partitions = new Map<string, { stopped: boolean; next: StoredOffset | null }>();
  const inOrder = sources
    .flatMap((source, index) => ('status' in source ? [] : [{ source, outcome: outcomes[index]! }]))
    .filter(({ source }) => source.topic !== null && source.partition !== null && source.offset !== null)
    .sort((a, b) => (a.source.offset! < b.source.offset! ? -1 : a.source.offset! > b.source.offset! ? 1 : 0));
  for (const { source, outcome } of inOrder) {
    const name = `${source.partition} ${source.topic}`;
    const partition = partitions.get(name) ?? { stopped: false, next: null };
    partitions.set(name, partition);
    if (!isCommittable(outcome)) partition.stopped = true;
    if (!partition.stopped) {
      partition.next = { topic: source.topic!, partition: source.partition!, nextOffset: source.offset! + 1n };
    }
  }
  const offsets = [...partitions.values()].flatMap(({ next }) => (next === null ? [] : [next]));
  // One order for every consumer, as for keys: two transactions that store the same partitions can't wait for each other.
  return offsets.sort((a, b) => (a.topic === b.topic ? a.partition - b.partition : a.topic < b.topic ? -1 : 1));
}
