import type { DedupHooks } from '../hooks.ts';
import type { Outcome } from '../outcome.ts';
import type { ConformanceCase } from './environment.ts';
import { expectEqual, expectStatus, expectStatuses } from './expect.ts';
import { messageOf, uniqueName } from './messages.ts';
import { consumer } from './single-cases.ts';

const always = (): boolean => true;
/** What quoting and escaping could spoil, at the longest a note may be. */
const AWKWARD = `00-"quoted"-'; \\x00 {tag} %s $1 ~`.padEnd(256, '.');

/** Notes each message with what the function says of it. */
const noting = (note: () => string): { hooks: DedupHooks } => ({ hooks: { onMessage: () => ({ note: note() }) } });

function noteOf(outcome: Outcome): string | null {
  return expectStatus(outcome, 'duplicate').first.note;
}

/** Cases about what a hook wants to be kept with a claim. */
export const noteCases: readonly ConformanceCase[] = [
  {
    name: 'a duplicate is shown the note of the run that processed its key, not of one that failed, nor its own',
    rule: 'D2, D7',
    applies: always,
    async run(environment) {
      const notes = ['of the failed run', AWKWARD, 'of the duplicate', 'of another duplicate'];
      const dedup = consumer(
        environment,
        uniqueName('note'),
        noting(() => notes.shift()!),
      );
      const failed = await dedup.process(messageOf('p1'), () => Promise.reject(new Error('no')));
      expectStatus(failed, 'failed');
      expectStatus(await dedup.process(messageOf('p1'), () => undefined), 'processed');
      expectEqual(noteOf(await dedup.process(messageOf('p1'), () => undefined)), AWKWARD);
      expectEqual(noteOf(await dedup.process(messageOf('p1'), () => undefined)), AWKWARD);
    },
  },
  {
    name: 'each key of a batch keeps the note of its first message, and its result beside it',
    rule: 'D5',
    applies: always,
    async run(environment) {
      let count = 0;
      const name = uniqueName('notes');
      const dedup = consumer(environment, name, { ...noting(() => `note ${count++}`), keepResult: true });
      const results = (fresh: readonly unknown[]): string[] => fresh.map((_, index) => `result ${index}`);
      const outcomes = await dedup.processBatch([messageOf('b'), messageOf('a'), messageOf('b')], results);
      expectStatuses(outcomes, ['processed', 'processed', 'duplicate']);
      expectEqual(noteOf(outcomes[2]!), 'note 0');
      const again = await dedup.processBatch([messageOf('a'), messageOf('b')], results);
      expectEqual(again.map(noteOf), ['note 1', 'note 0']);
      expectEqual(expectStatus(again[1]!, 'duplicate').first.result, 'result 0');
    },
  },
  {
    name: 'without a hook that notes something, nothing is kept',
    rule: 'D2',
    applies: always,
    async run(environment) {
      const name = uniqueName('no-note');
      const dedup = consumer(environment, name);
      await dedup.process(messageOf('p1'), () => undefined);
      expectEqual(noteOf(await dedup.process(messageOf('p1'), () => undefined)), null);
      const later = consumer(
        environment,
        name,
        noting(() => 'too late'),
      );
      expectEqual(noteOf(await later.process(messageOf('p1'), () => undefined)), null);
    },
  },
];
