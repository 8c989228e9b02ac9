import { afterAll, beforeAll, expect, it } from 'vitest';
import type { LabTimes } from '../../src/lab/lab-cluster.ts';
import { type Browser, ShownPage, type ShownSystem, showSystem, startBrowser } from './page.testkit.ts';

/** Every idea is tried on the live system: shorter than where each button has a test of its own. */
const times: LabTimes = { requestTimeoutMs: 1_000, deliveryTimeoutMs: 4_000, outageMs: 1_000 };

let shown: ShownSystem;
let browser: Browser;
let view: ShownPage;

beforeAll(async () => {
  [shown, browser] = await Promise.all([showSystem(times), startBrowser()]);
  view = new ShownPage(await browser.open(`${shown.url}/#lesson/1`));
});

afterAll(async () => {
  await browser?.[Symbol.asyncDispose]();
  await shown?.system.close();
});

/** Waits for a moment of the lesson, and reads all that is shown with it. */
async function moment(step: number, at: number) {
  const { page } = view;
  await page.locator(`#lesson[data-step="${step}"][data-moment="${at}"]`).waitFor();
  const texts = (selector: string) => page.locator(selector).allTextContents();
  return {
    place: `${step}/${at}`,
    title: await page.locator('#lesson-title').textContent(),
    caption: await page.locator('#caption').textContent(),
    next: await page.locator('#lesson-next').textContent(),
    tiles: await texts('#tiles .value'),
    producer: await texts('#producer-body .column'),
    logs: await texts('.log'),
    notebooks: await texts('.page'),
    ledger: await texts('#ledger-body'),
    stories: await texts('#timeline .story'),
  };
}

type Moment = Awaited<ReturnType<typeof moment>>;

/** Where the lesson goes from a moment, as its buttons say it. */
async function target(button: 'lesson-next' | 'lesson-back'): Promise<string | null> {
  return view.page.locator(`#${button}`).getAttribute('href');
}

it('each idea forward and back: what a moment shows depends on the moment alone', async () => {
  const { page } = view;
  const forward: Moment[] = [await moment(1, 1)];
  for (;;) {
    const [step, at] = forward.at(-1)!.place.split('/').map(Number) as [number, number];
    const next = await target('lesson-next');
    if (next === '#live') break;
    await page.locator('#lesson-next').click();
    const isSameStep = next === `#lesson/${step}/${at + 1}`;
    forward.push(await moment(isSameStep ? step : step + 1, isSameStep ? at + 1 : 1));
  }
  expect(new Set(forward.map(({ title }) => title)).size).toBe(12);

  // A fresh look, so that nothing comes from what this page remembers.
  await page.reload();
  const back: Moment[] = [];
  for (const { place } of forward.toReversed()) {
    if (back.length > 0) await page.locator('#lesson-back').click();
    const [step, at] = place.split('/').map(Number) as [number, number];
    back.push(await moment(step, at));
  }
  expect(back.toReversed()).toEqual(forward);
  expect(await page.locator('#lesson-back').getAttribute('aria-disabled')).toBe('true');
  expect(browser.takeProblems()).toEqual([]);
});

it('shows the numbers of the worked example', async () => {
  const { page } = view;
  const at = async (step: number, which: number) => {
    await page.evaluate((hash) => {
      window.location.hash = hash;
    }, `#lesson/${step}/${which}`);
    return moment(step, which);
  };
  await at(1, 2);
  expect(await page.locator('.badge').allTextContents()).toEqual(['producer id 5001']);
  const lostReply = await at(7, 2);
  expect(lostReply.logs[0]).toMatch(/900–903.*№ 0–3.*904–905.*№ 4–5/);
  expect(lostReply.stories[0]).toMatch(
    /reply is lost.*sent again.*recognises 4–5, stores nothing, and answers with 904–905/,
  );
  const reordered = await at(8, 2);
  expect(reordered.logs[0]).toMatch(/906–908.*№ 6–8.*909–911.*№ 9–11/);
  const five = await at(9, 1);
  expect(five.producer[1]).toContain('5 of 5');
  const failover = await at(10, 2);
  expect(failover.logs[0]).toMatch(/912–913.*№ 12–13/);
  await view.shows('[data-leader="0"]', 'B leads');
  const restarted = await at(11, 2);
  expect(restarted.logs[0]).toMatch(/914.*producer 5002, № 0/);
  const last = await at(12, 1);
  expect(last.tiles.at(-2)).toBe('1');
  await view.shows('#verdict[data-verdict="balanced"]', 'applied exactly once');
});

it('by the keyboard alone: in, forward, back, to the live system’s button and back to the example', async () => {
  const { page } = view;
  await page.goto(`${shown.url}/#live`);
  await page.locator('#to-lesson').focus();
  await page.keyboard.press('Enter');
  await moment(1, 1);
  await page.keyboard.press('ArrowRight');
  await moment(1, 2);
  await page.keyboard.press('ArrowRight');
  await moment(2, 1);
  await page.keyboard.press('ArrowLeft');
  await moment(1, 2);
  await page.locator('#lesson-next').focus();
  await page.keyboard.press('Space');
  await moment(2, 1);
  expect(await page.evaluate(() => document.activeElement?.id)).toBe('lesson-next');
  await page.locator('.skip.lesson-only').focus();
  await page.keyboard.press('Enter');
  await page.locator('#lesson[data-step="2"]:focus').waitFor();
  await page.locator('.ideas a').nth(2).focus();
  await page.keyboard.press('Enter');
  await moment(3, 1);
  await page.locator('[data-try="pay-one"]').focus();
  await page.keyboard.press('Enter');
  await page.locator('#lesson[data-shows="live"] [data-try="pay-one"]:focus').waitFor();
  await view.shows('.tried', /payments? stored and acknowledged/);
  await page.keyboard.press('ArrowLeft');
  await moment(2, 3);
  expect(await page.locator('#lesson').getAttribute('data-shows')).toBe('example');
});

it('arrow keys and clicks that come faster than the steps are not lost', async () => {
  const { page } = view;
  // Nothing that the page remembers may answer in place of the server.
  await page.goto('about:blank');
  let answers = Promise.withResolvers<void>();
  await page.route('**/lesson/*', async (route) => {
    await answers.promise;
    await route.continue();
  });
  await page.goto(`${shown.url}/#lesson/1`);
  for (let press = 0; press < 4; press += 1) await page.keyboard.press('ArrowRight');
  answers.resolve();
  await moment(2, 3);
  answers = Promise.withResolvers();
  await page.evaluate(() => {
    for (let press = 0; press < 3; press += 1) document.getElementById('lesson-next')?.click();
  });
  await page.keyboard.press('ArrowLeft');
  answers.resolve();
  await moment(4, 1);
  await page.unroute('**/lesson/*');
});

/** What the live system tells of each button, as the lesson shows it beside the idea. */
const told: Readonly<Record<string, RegExp>> = {
  'restart-producer': /producer \d+ stops.*a producer starts: id \d+/s,
  'outlast-timeout': /1 sender told “unknown/,
  resend: /payments? stored and acknowledged|holds a known payment/,
  'pay-one': /payments? stored and acknowledged/,
  'pay-hundred': /10\d payments stored and acknowledged/,
  'lose-reply': /the reply is lost.*same numbers sent again.*recognises.*acknowledged: stored once/s,
  'lose-request': /lost on the way.*same numbers sent again.*acknowledged: stored once/s,
  delay: /replies on the way, 500 ms late/,
  'kill-leader': /recognises.*acknowledged: stored once|dies.*leads partition/s,
  'crash-consumer': /the ledger consumer dies.*read again: its key is known/s,
};

it('each idea is tried on the live system: its story beside the example’s numbers, the books right, and the example as it was', async () => {
  const { page } = view;
  await page.goto(`${shown.url}/#live`);
  await view.press('pay-one');
  await view.settled();
  const tried = new Set<string>();
  for (let step = 1; step <= 12; step += 1) {
    await page.goto(`${shown.url}/#lesson/${step}/last`);
    await page.locator(`#lesson[data-step="${step}"]`).waitFor();
    const last = Number(await page.locator('#lesson').getAttribute('data-moment'));
    const example = await moment(step, last);
    const actions = await page
      .locator('[data-try]')
      .evaluateAll((all) => all.map((each) => each.getAttribute('data-try')!));
    expect(actions.length).toBeGreaterThan(0);
    for (const action of actions.filter((each) => !tried.has(each))) {
      tried.add(action);
      await page.locator(`[data-try="${action}"]:not([aria-disabled])`).click();
      await view.shows('#lesson[data-shows="live"] .tried', told[action]!);
      await view.shows('#shown', 'Shown: the live system');
      expect(await page.locator('#caption').textContent()).toBe(example.caption);
      // Its sender was told “unknown”: the books are right when it has asked again, by the button beside it.
      if (action !== 'outlast-timeout') await expectBalancedBooks();
    }
    const toExample = page.locator('#to-example');
    if ((await toExample.count()) > 0) await toExample.click();
    await page.locator('#lesson[data-shows="example"]').waitFor();
    expect(await moment(step, last)).toEqual(example);
  }
  expect(tried).toEqual(new Set(Object.keys(told)));
  expect(browser.takeProblems()).toEqual([]);
});

/** The live system at rest: what is shown is what the books say. */
async function expectBalancedBooks(): Promise<void> {
  const tiles = await view.settled();
  const books = await shown.system.reconcile();
  expect(books).toMatchObject({ isBalanced: true, differences: [], pending: 0 });
  expect(tiles).toMatchObject({ accepted: books.accepted, stored: books.recordsInLog, applied: books.applied });
}
