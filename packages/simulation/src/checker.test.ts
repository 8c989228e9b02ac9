import { describe, expect, test } from 'vitest';
import { checkEvidence } from './checker.ts';
import type { Evidence, FormerLife, PartitionEvidence } from './evidence.ts';
import type { LedgerEntry, Outcome, Session } from './ledger.ts';
import type { LoggedBatch } from './log-reader.ts';

const session: Session = {
  id: 0,
  idempotence: true,
  settleWithinMs: 1000,
  frozenUntilMs: 0,
  crashed: false,
  recreations: new Map(),
  suspected: new Set(),
};

function entry(id: number, outcome: Outcome | null, over: Partial<LedgerEntry> = {}): LedgerEntry {
  return {
    id,
    session: 0,
    topic: 't',
    value: `${id}|abc`,
    sentAtMs: 0,
    settledAtMs: 10,
    settles: outcome === null ? 0 : 1,
    outcome,
    ...over,
  };
}

const acknowledged = (offset: number): Outcome => ({ kind: 'acknowledged', partition: 0, offset });
const failed = (fate: 'not-stored' | 'unknown'): Outcome => ({ kind: 'failed', fate, code: 'TEST' });

function batch(baseOffset: number, baseSequence: number, ids: readonly number[]): LoggedBatch {
  return {
    baseOffset,
    lastOffset: baseOffset + ids.length - 1,
    leaderEpoch: 0,
    producerId: 7n,
    producerEpoch: 0,
    baseSequence,
    recordCount: ids.length,
    maxTimestampMs: 0,
    values: ids.map((id) => `${id}|abc`),
  };
}

function evidence(
  entries: readonly LedgerEntry[],
  batches: readonly LoggedBatch[],
  over: {
    readonly session?: Partial<Session>;
    readonly mode?: Evidence['mode'];
    readonly partition?: Partial<PartitionEvidence>;
    readonly formerLives?: readonly FormerLife[];
    readonly topicIds?: boolean;
  } = {},
): Evidence {
  const notebook = batches.map((logged) => ({
    baseSequence: logged.baseSequence,
    lastSequence: logged.baseSequence + logged.recordCount - 1,
    baseOffset: logged.baseOffset,
    lastOffset: logged.lastOffset,
  }));
  const replica = {
    brokerId: 1,
    isLeader: true,
    inSync: true,
    logStartOffset: 0,
    batches,
    notebook: batches.length === 0 ? [] : [{ producerId: 7n, epoch: 0, batches: notebook.slice(-5) }],
  };
  return {
    mode: over.mode ?? 'clean',
    entries,
    sessions: [{ ...session, ...over.session }],
    partitions: [
      {
        topic: 't',
        partition: 0,
        life: 1,
        createdAtMs: 0,
        batches,
        replicas: [replica],
        forgotten: new Set(),
        reportedLost: 0,
        uncleanElections: 0,
        ...over.partition,
      },
    ],
    formerLives: over.formerLives ?? [],
    topicIds: over.topicIds ?? true,
    observed: [],
  };
}

const properties = (given: Evidence): string[] => [...new Set(checkEvidence(given).map(({ property }) => property))];

describe('the checker', () => {
  const good = [
    entry(0, acknowledged(0)),
    entry(1, acknowledged(1)),
    entry(2, failed('not-stored')),
    entry(3, failed('unknown')),
  ];

  test('finds nothing where every promise held', () => {
    expect(properties(evidence(good, [batch(0, 0, [0, 1])]))).toEqual([]);
    expect(properties(evidence(good, [batch(0, 0, [0, 1]), batch(2, 2, [3])]))).toEqual([]);
  });

  test('finds a record that was acknowledged and is gone', () => {
    expect(properties(evidence(good, [batch(0, 0, [0])]))).toEqual(['acknowledged means stored']);
  });

  test('finds a record that is stored twice', () => {
    expect(properties(evidence(good, [batch(0, 0, [0, 1]), batch(2, 2, [1])]))).toEqual(['nothing is stored twice']);
    const twice = evidence(good, [batch(0, 0, [0, 1]), batch(2, 2, [3]), batch(3, 3, [3])]);
    expect(properties(twice)).toEqual(['nothing is stored twice']);
  });

  test('finds a record that is stored although it failed as not stored', () => {
    const lied = evidence(good, [batch(0, 0, [0, 1]), batch(2, 2, [2])]);
    expect(properties(lied)).toEqual(['failed as not stored means absent']);
  });

  test('finds an offset that is not the one of the answer, and order that is not the order of the calls', () => {
    const found = properties(evidence(good, [batch(0, 0, [1, 0])]));
    expect(found).toContain('acknowledged means stored at the offset of the answer');
    expect(found).toContain('acknowledged records are stored in send order');
  });

  test('finds sends that settle never, twice or too late', () => {
    const settled = 'every send settles exactly once';
    expect(properties(evidence([entry(0, null)], []))).toEqual([settled]);
    expect(properties(evidence([entry(0, failed('unknown'), { settles: 2 })], []))).toEqual([settled]);
    const late = evidence([entry(0, failed('unknown'), { settledAtMs: 1001 })], []);
    expect(properties(late)).toEqual(['every send settles within its time']);
    expect(properties(evidence([entry(0, null)], [], { session: { crashed: true } }))).toEqual([]);
  });

  test('finds records that nobody sent, and offsets with a gap', () => {
    expect(properties(evidence([], [batch(0, 0, [9])]))).toEqual(['nothing is stored that was not sent']);
    const gap = evidence([entry(0, acknowledged(0)), entry(1, acknowledged(2))], [batch(0, 0, [0]), batch(2, 1, [1])]);
    expect(properties(gap)).toEqual(['offsets have neither gap nor overlap']);
  });

  test('finds a notebook that says other than the log', () => {
    const right = evidence(good, [batch(0, 0, [0, 1])]).partitions[0]!.replicas[0]!;
    const known = right.notebook[0]!;
    for (const notebook of [
      [],
      [{ ...known, epoch: 1 }],
      [{ ...known, batches: [{ ...known.batches[0]!, lastSequence: 5 }] }],
      [known, { ...known, producerId: 8n }],
    ]) {
      const wrong = evidence(good, [batch(0, 0, [0, 1])], { partition: { replicas: [{ ...right, notebook }] } });
      expect(properties(wrong)).toEqual(['the notebook equals one rebuilt from the log']);
    }
  });

  test('finds in-sync replicas that differ, and a partition without a leader', () => {
    const leader = evidence(good, [batch(0, 0, [0, 1])]).partitions[0]!.replicas[0]!;
    const follower = { ...leader, brokerId: 2, isLeader: false, batches: [], notebook: [] };
    const apart = evidence(good, [batch(0, 0, [0, 1])], { partition: { replicas: [leader, follower] } });
    expect(properties(apart)).toEqual(['in-sync replicas hold the same']);
    const nobody = evidence(good, [batch(0, 0, [0, 1])], { partition: { replicas: [{ ...leader, isLeader: false }] } });
    expect(properties(nobody)).toEqual(['every partition has a leader once the faults are over']);
  });

  test('lets an unclean election lose records that the cluster reported, and no others', () => {
    const reported = evidence(good, [batch(0, 0, [0])], { mode: 'unclean', partition: { reportedLost: 1 } });
    expect(properties(reported)).toEqual([]);
    const silent = evidence(good, [batch(0, 0, [0])], { mode: 'unclean' });
    expect(properties(silent)).toEqual(['what an unclean election lost is reported']);
  });

  test('lets a record that was not stored come back where an unclean election brought back another log, and nowhere else', () => {
    const log = [batch(0, 0, [0, 1, 2])];
    const back = evidence(good, log, { mode: 'unclean', partition: { uncleanElections: 1 } });
    expect(properties(back)).toEqual([]);
    expect(properties(evidence(good, log, { mode: 'unclean' }))).toEqual(['failed as not stored means absent']);
    const clean = evidence(good, log, { partition: { uncleanElections: 1 } });
    expect(properties(clean)).toEqual(['failed as not stored means absent']);
  });
});

describe('the checker, of a topic that was deleted and made again', () => {
  const heardOf = (life: number, nextEntryId: number): Partial<Session> => ({
    recreations: new Map([['t', [{ life, nextEntryId }]]]),
  });
  const recreated = heardOf(2, 1);
  const made = { life: 2, createdAtMs: 200 };
  const former = (batches: readonly LoggedBatch[]): FormerLife => ({
    topic: 't',
    partition: 0,
    life: 1,
    createdAtMs: 0,
    deletedAtMs: 100,
    batches,
  });
  const before = entry(0, acknowledged(0));
  const after = entry(1, acknowledged(0), { sentAtMs: 300, settledAtMs: 310 });

  test('finds what was acknowledged in the log that is gone, or in the one that is there, and misses it where neither had it', () => {
    const lives = (log: readonly LoggedBatch[]) =>
      evidence([before, after], [batch(0, 0, [1])], {
        session: recreated,
        partition: made,
        formerLives: [former(log)],
      });
    expect(properties(lives([batch(0, 0, [0])]))).toEqual([]);
    expect(properties(lives([]))).toEqual(['acknowledged means stored']);
  });

  test('lets a record be stored once in each when no answer came from the first, and finds one that was sent again although it had', () => {
    const unheard = entry(0, acknowledged(0), { settledAtMs: 310 });
    const both = (entries: readonly LedgerEntry[]) =>
      evidence(entries, [batch(0, 0, [0])], {
        session: recreated,
        partition: made,
        formerLives: [former([batch(0, 0, [0])])],
      });
    expect(properties(both([unheard]))).toEqual([]);
    expect(properties(both([before]))).toEqual(['what was acknowledged is not sent to the topic made again']);
  });

  test('finds order that is not the order of the calls in either log', () => {
    const entries = [entry(0, acknowledged(1)), entry(1, acknowledged(0))];
    const swapped = [batch(0, 0, [1]), batch(1, 1, [0])];
    expect(properties(evidence(entries, [], { partition: made, formerLives: [former(swapped)] }))).toEqual([
      'acknowledged records are stored in send order',
    ]);
  });

  test('finds a producer that went on without a word', () => {
    const silent = evidence([before, after], [batch(0, 0, [1])], {
      partition: made,
      formerLives: [former([batch(0, 0, [0])])],
    });
    expect(properties(silent)).toEqual(['a producer that goes on in a topic made again says so']);
  });

  test('finds a record in the log that is gone although it failed as not stored, where the producer could know', () => {
    const lied = (topicIds: boolean) =>
      evidence([entry(0, failed('not-stored'), { settledAtMs: 300 })], [], {
        topicIds,
        partition: made,
        formerLives: [former([batch(0, 0, [0])])],
      });
    expect(properties(lied(true))).toEqual(['failed as not stored means absent']);
    expect(properties(lied(false))).toEqual([]);
  });

  test('by name: what was sent before the producer heard of it may be out of order, and what was sent after may not', () => {
    // All of it in one instant: what was sent before is told by the order of the calls.
    const swapped = (heard: Partial<Session>) =>
      evidence([entry(0, acknowledged(1)), entry(1, acknowledged(0))], [batch(0, 0, [1]), batch(1, 1, [0])], {
        mode: 'by-name',
        topicIds: false,
        session: heard,
        partition: made,
      });
    expect(properties(swapped(heardOf(2, 2)))).toEqual([]);
    expect(properties(swapped(heardOf(2, 0)))).toEqual(['acknowledged records are stored in send order']);
  });

  test('by name: hearing of one life says nothing of the one after it, which came while the answer was on its way', () => {
    const twice = (life: number) =>
      evidence([entry(0, acknowledged(0))], [batch(0, 0, [0]), batch(1, 1, [0])], {
        mode: 'by-name',
        topicIds: false,
        session: heardOf(life, 0),
        partition: { life: 3, createdAtMs: 200 },
      });
    expect(properties(twice(2))).toEqual([]);
    expect(properties(twice(3))).toEqual(['nothing is stored twice']);
  });

  test('by name: only what was acknowledged without an offset may be gone', () => {
    const gone = (offset: number) =>
      evidence([entry(0, acknowledged(offset))], [], { mode: 'by-name', topicIds: false, partition: made });
    expect(properties(gone(-1))).toEqual([]);
    expect(properties(gone(0))).toEqual(['acknowledged means stored']);
  });
});
