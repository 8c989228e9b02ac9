import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Browser, ShownPage, type ShownSystem, showSystem, startBrowser } from './page.testkit.ts';

let shown: ShownSystem;
let browser: Browser;
let view: ShownPage;

beforeAll(async () => {
  [shown, browser] = await Promise.all([showSystem(), startBrowser()]);
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
    stories: await texts('.story'),
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

it('by the keyboard alone: in, forward, back, and out to the live system’s button', async () => {
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
  await page.locator('.ideas a').nth(2).focus();
  await page.keyboard.press('Enter');
  await moment(3, 1);
  await page.locator('.try a').focus();
  await page.keyboard.press('Enter');
  await page.locator('[data-action="pay-one"]:focus').waitFor();
});
