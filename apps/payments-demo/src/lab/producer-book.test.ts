import { expect, it } from 'vitest';
import { type Attempt, createSystemEvents } from '../system/events.ts';
import { ProducerBook } from './producer-book.ts';

const attempt = (input: Partial<Attempt>): Attempt => ({
  topic: 'payments',
  partition: 0,
  producerId: 5001n,
  epoch: 0,
  baseSequence: 0,
  recordCount: 1,
  attempt: 1,
  brokerId: 1,
  ...input,
});
const settled = { fate: 'stored', attempts: 1, baseOffset: 900n } as const;

function startBook() {
  const events = createSystemEvents();
  const book = new ProducerBook(events);
  const partition = () => book.views().at(-1)!.partitions[0]!;
  return { events, book, partition };
}

it('numbers go on while batches are in flight, wait, and are sent again', () => {
  const { events, partition } = startBook();
  events.emit('attempt-started', attempt({ recordCount: 4 }));
  events.emit('attempt-started', attempt({ baseSequence: 4, recordCount: 2 }));
  expect(partition()).toMatchObject({ epoch: 0, nextSequence: 6 });
  events.emit('attempt-ended', { ...attempt({ recordCount: 4 }), action: 'lost', errorName: null, baseOffset: -1n });
  expect(partition().window).toMatchObject([
    { sequence: { first: 0, last: 3 }, state: 'waits-for-retry', attempt: 1 },
    { sequence: { first: 4, last: 5 }, state: 'in-flight' },
  ]);
  events.emit('attempt-started', attempt({ recordCount: 4, attempt: 2 }));
  expect(partition().window[0]).toMatchObject({ state: 'in-flight', attempt: 2 });
  events.emit('batch-settled', { ...attempt({ recordCount: 4 }), ...settled });
  expect(partition()).toMatchObject({ nextSequence: 6, window: [{ sequence: { first: 4, last: 5 } }] });
});

it('the end of an earlier attempt does not end a later one', () => {
  const { events, partition } = startBook();
  events.emit('attempt-started', attempt({}));
  events.emit('attempt-started', attempt({ attempt: 2 }));
  events.emit('attempt-ended', { ...attempt({}), action: 'lost', errorName: null, baseOffset: -1n });
  expect(partition().window).toMatchObject([{ attempt: 2, state: 'in-flight' }]);
});

it('a new epoch counts from 0, and nothing of the old one is in flight any more', () => {
  const { events, partition } = startBook();
  events.emit('attempt-started', attempt({ baseSequence: 41 }));
  events.emit('attempt-started', attempt({ epoch: 1 }));
  expect(partition()).toMatchObject({ epoch: 1, nextSequence: 1, window: [{ epoch: 1 }] });
  events.emit('batch-settled', { ...attempt({ baseSequence: 41 }), ...settled });
  expect(partition().window).toHaveLength(1);
});

it('shows the newest producers only, and still tells older ones apart', () => {
  const { events, book } = startBook();
  for (let id = 1n; id <= 50n; id += 1n) {
    events.emit('producer-started', { producerId: id });
    events.emit('producer-closed', { producerId: id });
  }
  expect(book.views().map(({ producerId, state }) => [producerId, state])).toEqual([
    ['48', 'closed'],
    ['49', 'closed'],
    ['50', 'closed'],
  ]);
  expect([book.sessionOf(1n), book.sessionOf(50n), book.sessionOf(99n)]).toEqual([1, 50, 0]);
});
