import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { type Browser, ShownPage, type ShownSystem, showSystem, startBrowser, type Tiles } from './page.testkit.ts';

let shown: ShownSystem;
let browser: Browser;
let view: ShownPage;

beforeAll(async () => {
  [shown, browser] = await Promise.all([showSystem(), startBrowser()]);
  view = new ShownPage(await browser.open(shown.url));
  await view.press('pay-one');
  await view.settled();
});

afterAll(async () => {
  await browser?.[Symbol.asyncDispose]();
  await shown?.system.close();
});

/** Whatever was pressed: no payment is lost, none is applied twice, and what is shown is what the books say. */
afterEach(async () => {
  const tiles = await view.settled();
  expect(tiles.stored).toBe(tiles.applied + tiles['caught-by-key']);
  const books = await shown.system.reconcile();
  expect(books).toMatchObject({ isBalanced: true, differences: [], ledgerSumMinor: 0, pending: 0 });
  expect(tiles).toMatchObject({ accepted: books.accepted, stored: books.recordsInLog, applied: books.applied });
  expect(await view.page.locator('#ledger-sum').textContent()).toBe('€0.00');
  expect(browser.takeProblems()).toEqual([]);
});

/** Presses a button, and gives the tiles before and after. */
async function pressed(action: string, payments: number): Promise<[before: Tiles, after: Tiles]> {
  const before = await view.settled();
  await view.press(action);
  return [before, await view.settledAt('accepted', before.accepted + payments)];
}

it('“Send one payment”: one more is accepted, stored and applied', async () => {
  const [before, after] = await pressed('pay-one', 1);
  expect(after).toMatchObject({ stored: before.stored + 1, applied: before.applied + 1 });
});

it('“Send a hundred”: a hundred more, in far fewer batches', async () => {
  const [before, after] = await pressed('pay-hundred', 100);
  expect(after).toMatchObject({ stored: before.stored + 100, applied: before.applied + 100 });
  const numbers = await view.page.locator('.batch .numbers').allTextContents();
  expect(numbers.filter((text) => text.includes('–')).length).toBeGreaterThan(0);
});

it('“Send a stream”: goes on until it is pressed again', async () => {
  const before = await view.settled();
  await view.press('stream');
  await view.shows('[data-action="stream"][aria-pressed="true"]', 'Stop the stream');
  await view.shownAbove('accepted', before.accepted + 2);
  await view.press('stream');
  await view.shows('[data-action="stream"][aria-pressed="false"]', 'Send a stream');
});

it('“Lose the next reply”: the same numbers are sent again, and the broker recognises them', async () => {
  const [before, after] = await pressed('lose-reply', 1);
  await view.story(
    /broker [ABC] stores it/,
    /the reply is lost/,
    /no answer in time/,
    /same numbers sent again/,
    /recognises .*stores nothing/,
    /acknowledged: stored once/,
  );
  expect(after).toMatchObject({ stored: before.stored + 1, applied: before.applied + 1 });
  expect(after['caught-by-broker']).toBeGreaterThan(before['caught-by-broker']);
});

it('“Lose a batch on its way”: what comes behind it is refused, and all are stored in their order', async () => {
  const [before, after] = await pressed('lose-request', 4);
  await view.story(/lost on the way/, /no answer in time/, /same numbers sent again/, /acknowledged: stored once/);
  await view.story(/refuses it: it expects \d+/, /same numbers sent again/, /acknowledged: stored once/);
  expect(after).toMatchObject({ stored: before.stored + 4, applied: before.applied + 4 });
  expect(after['caught-by-broker']).toBe(before['caught-by-broker']);
});

it('“Delay replies”: several are in flight, and nothing is sent again', async () => {
  const before = await view.settled();
  await view.press('delay');
  // Five, unless the machine is too busy to send them that close together. That it is five at most is the lesson's to show.
  await view.shows('[data-in-flight]', /[2-5] of 5/);
  const after = await view.settledAt('accepted', before.accepted + 7);
  await view.story(/[2-6] replies on the way, 1000 ms late/);
  expect(after).toMatchObject({ stored: before.stored + 7, 'caught-by-broker': before['caught-by-broker'] });
});

it('“Kill a leader”: another takes over and recognises the repeat; meanwhile no other broker may be taken down', async () => {
  const before = await view.settled();
  await view.press('kill-leader');
  await view.shows('.chip[data-state="dead"]', /broker [ABC]: dead/);
  expect(await view.button('freeze-leader').getAttribute('aria-disabled')).toBe('true');
  await view.shows('#expect-freeze-leader', 'Wait until it is back');
  const after = await view.settledAt('accepted', before.accepted + 1);
  await view.story(/broker [ABC] dies/, /broker [ABC] leads partition/, /starts again/);
  await view.story(/same numbers sent again/, /recognises/);
  expect(after.stored).toBe(before.stored + 1);
  await view.page.locator('.chip[data-state="running"][data-broker]').nth(2).waitFor();
  await view.page.locator('.replica[data-state="out of sync"]').first().waitFor({ state: 'detached' });
});

it('“Freeze a leader”: it wakes up and stores nothing a second time', async () => {
  const before = await view.settled();
  await view.press('freeze-leader');
  await view.shows('.chip[data-state="frozen"]', /broker [ABC]: frozen/);
  await view.page.locator('.chip[data-state="running"][data-broker]').nth(2).waitFor();
  const after = await view.settledAt('accepted', before.accepted + 2);
  await view.story(/broker [ABC] freezes/, /wakes up/);
  expect(after).toMatchObject({ stored: before.stored + 2, applied: before.applied + 2 });
});

it('“Outlast the delivery timeout”: the sender is told “unknown”, and asking again with the same key is safe', async () => {
  const before = await view.settled();
  await view.press('outlast-timeout');
  await view.story(/1 sender told “unknown/);
  await view.shows('[data-tile="accepted"] .note', 'and 1 told “unknown”');
  await view.story(/takes epoch 1/);
  await view.page.locator('.chip[data-state="running"][data-broker]').nth(2).waitFor();
  await view.shows('#expect-resend', 'What got no answer is asked for again.');
  await view.press('resend');
  const after = await view.settledAt('accepted', before.accepted + 2);
  expect(after.applied).toBe(before.applied + 2);
  await view.shows('[data-tile="accepted"] .note', 'senders told “stored”');
});

it('“Restart the producer”: it has another id, and counts from 0', async () => {
  await view.settled();
  const id = await view.page.locator('.identity > .badge').textContent();
  await view.press('restart-producer');
  await view.shows('.earlier', `before: ${id}`);
  expect(await view.page.locator('.identity > .badge').textContent()).not.toBe(id);
  expect(await view.page.locator('[data-next]').allTextContents()).toEqual(['0', '0', '0']);
});

it('“Resend from the application”: stored twice, applied once, since the key is known', async () => {
  const before = await view.settled();
  await view.shows(
    '#expect-resend',
    'Otherwise the last payment is sent once more, with new numbers, and stored twice.',
  );
  await view.press('resend');
  const after = await view.settledAt('caught-by-key', before['caught-by-key'] + 1);
  await view.story(/holds a known payment, applied already at \d+: the ledger passes over it/);
  expect(after).toMatchObject({ accepted: before.accepted, stored: before.stored + 1, applied: before.applied });
});

it('“Crash the consumer”: the record is read again, and not applied again', async () => {
  const before = await view.settled();
  await view.press('crash-consumer');
  await view.shows('[data-consumer="ledger"] .chip', 'crashed');
  await view.story(/the ledger consumer dies/, /it starts again/, /read again: its key is known/);
  const after = await view.settledAt('accepted', before.accepted + 1);
  expect(after).toMatchObject({ applied: before.applied + 1, 'caught-by-key': before['caught-by-key'] });
  await view.shows('[data-tile="caught-by-key"] .note', /read again, not applied/);
});
