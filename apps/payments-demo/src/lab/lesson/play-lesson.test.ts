import { describe, expect, it } from 'vitest';
import type { Snapshot } from '../snapshot.ts';
import { lessonLength, playLesson } from './play-lesson.ts';

/** The state at a moment; the last one by default. */
async function stateAt(step: number, moment?: number): Promise<Snapshot> {
  const { frames } = await playLesson(step);
  return frames.at(moment === undefined ? -1 : moment - 1)!.snapshot;
}

const sequences = (snapshot: Snapshot, partition: number) =>
  snapshot.partitions[partition]!.batches.map(({ numbers, offsets }) => [
    numbers!.sequence.first,
    numbers!.sequence.last,
    offsets.first,
  ]);

describe('the lesson', () => {
  it('has twelve ideas, and each shows something', async () => {
    expect(lessonLength).toBe(12);
    for (let step = 1; step <= lessonLength; step += 1) {
      const { frames, text, title } = await playLesson(step);
      expect([title, text, frames.length > 0].every(Boolean)).toBe(true);
    }
  });

  it('M7: shows the same each time, to the last byte', async () => {
    for (const step of [2, 9, 12]) expect(await playLesson(step)).toEqual(await playLesson(step));
  });

  it('a snapshot stays small enough to be sent several times a second', async () => {
    for (let step = 1; step <= lessonLength; step += 1)
      expect(JSON.stringify(await stateAt(step)).length).toBeLessThan(20_000);
  });

  it('identity: the id is 5001', async () => {
    expect((await stateAt(1)).producers).toMatchObject([{ producerId: '5001', state: 'running', partitions: [] }]);
  });

  it('epoch: one partition begins epoch 1, and the late batch of epoch 0 is refused', async () => {
    const { producers, partitions, timeline, audit } = await stateAt(2);
    expect(producers[0]!.partitions).toMatchObject([{ partition: 2, epoch: 1, nextSequence: 1 }]);
    expect(partitions[2]!.records).toBe(2);
    expect(timeline.at(-1)!.parts.at(-1)).toBe('broker C refuses it: epoch 0 is older than epoch 1');
    expect(audit.unknown).toBe(1);
  });

  it('numbering: 0–3 lie at 900–903, and 4 is next', async () => {
    const state = await stateAt(3);
    expect(sequences(state, 0)).toEqual([[0, 3, 900]]);
    expect(state.producers[0]!.partitions[0]).toMatchObject({ partition: 0, nextSequence: 4 });
  });

  it('header: is that of the stored batch', async () => {
    const { header } = await playLesson(4);
    const values = Object.fromEntries(header!.map(({ field, value }) => [field, value]));
    expect(values).toMatchObject({ 'base offset': '900', 'producer id': '5001', 'base sequence': '0', records: '4' });
  });

  it('life of a record: on its way, stored by the leader, copied', async () => {
    const ends = async (moment: number) =>
      (await stateAt(5, moment)).partitions[1]!.replicas.map(({ nextOffset }) => nextOffset);
    expect(await ends(1)).toEqual([900, 900, 900]);
    expect(await ends(2)).toEqual([901, 900, 900]);
    expect(await ends(3)).toEqual([901, 901, 901]);
    const inFlight = async (moment: number) => (await stateAt(5, moment)).producers[0]!.partitions[1]!.window.length;
    expect([await inFlight(1), await inFlight(2), await inFlight(3)]).toEqual([1, 1, 0]);
  });

  it('validation: the gap is refused, the repeat recognised, the next stored', async () => {
    expect((await stateAt(6, 1)).timeline.at(-1)!.parts.at(-1)).toBe('broker B refuses it: it expects 1');
    const repeated = await stateAt(6, 2);
    expect(repeated.timeline.at(-1)!.parts.at(-1)).toMatch(/recognises 0, stores nothing, and answers with 900/);
    expect(sequences(repeated, 1)).toEqual([[0, 0, 900]]);
    expect(sequences(await stateAt(6, 3), 1)).toEqual([
      [0, 0, 900],
      [1, 1, 901],
    ]);
  });

  it('lost reply: 4–5 are asked twice and stored once, and the story tells it', async () => {
    const { timeline, partitions } = await stateAt(7);
    expect(timeline.findLast(({ tone }) => tone === 'caught')!.parts).toEqual([
      '4–5 of partition 0',
      'broker A stores it at 904–905',
      'the reply is lost',
      'no answer in time',
      'same numbers sent again, to broker A',
      'broker A recognises 4–5, stores nothing, and answers with 904–905',
      'acknowledged: stored once at 904–905',
    ]);
    expect(partitions[0]!.nextOffset).toBe(906);
  });

  it('reordering: 9–11 wait for 6–8, and are stored behind them', async () => {
    const refused = await stateAt(8, 1);
    expect(refused.producers[0]!.partitions[0]!.window.map(({ state }) => state)).toEqual([
      'in-flight',
      'waits-for-retry',
    ]);
    expect(sequences(await stateAt(8), 0).slice(-2)).toEqual([
      [6, 8, 906],
      [9, 11, 909],
    ]);
  });

  it('five in flight: five and one that waits; then the notebook has forgotten what is stored', async () => {
    const full = await stateAt(9, 1);
    expect(full.producers[0]!.partitions[1]!.window.map(({ sequence }) => sequence.first)).toEqual([2, 3, 4, 5, 6]);
    const after = await stateAt(9);
    expect(after.partitions[1]!.notebook![0]!.batches.map(({ sequence }) => sequence.first)).toEqual([3, 4, 5, 6, 7]);
    expect(sequences(after, 1)).toContainEqual([2, 2, 902]);
    expect(after.timeline.at(-1)!.parts.at(-1)).toBe('broker B refuses it: it expects 8');
  });

  it('failover: the new leader recognises 12–13 from its own notebook', async () => {
    const { partitions, brokers, timeline } = await stateAt(10);
    expect([partitions[0]!.leader, brokers[0]!.state]).toEqual(['B', 'dead']);
    expect(timeline.flatMap(({ parts }) => parts)).toContain(
      'broker B recognises 12–13, stores nothing, and answers with 912–913',
    );
  });

  it('restart: a new id, and payment 13 a second time at 914', async () => {
    const { producers, partitions } = await stateAt(11);
    expect(producers.map(({ producerId, state }) => [producerId, state])).toEqual([
      ['5001', 'closed'],
      ['5002', 'running'],
    ]);
    expect(partitions[0]!.batches.at(-1)).toMatchObject({ offsets: { first: 914 }, numbers: { producerId: '5002' } });
  });

  it('business key: everything is applied once, the repeat is passed over', async () => {
    const { audit, ledger, consumers } = await stateAt(12);
    expect(audit).toMatchObject({ verdict: 'balanced', caughtByKey: 1, stored: audit.applied + 1 });
    expect([ledger.sumMinor, ledger.payments]).toEqual([0, audit.applied]);
    expect(consumers[0]).toMatchObject({ name: 'ledger', duplicates: 1, conflicts: 0 });
  });
});
