import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Browser, ShownPage, type ShownSystem, showSystem, startBrowser } from './page.testkit.ts';

/** Phones, tablets, and windows that are wide and not tall. */
const sizes = [
  [360, 600],
  [360, 900],
  [900, 600],
  [900, 900],
  [1_280, 720],
  [1_280, 900],
] as const;

let shown: ShownSystem;
let browser: Browser;
let view: ShownPage;

beforeAll(async () => {
  [shown, browser] = await Promise.all([showSystem(), startBrowser({ reducedMotion: 'reduce' })]);
  view = new ShownPage(await browser.open(shown.url));
  await view.press('lose-request');
  await view.story(/refuses it/, /acknowledged/);
  // Stories enough that the timeline is longer than any window.
  for (let restarts = 0; restarts < 14; restarts += 1) await view.press('restart-producer');
  await view.settled();
});

afterAll(async () => {
  await browser?.[Symbol.asyncDispose]();
  await shown?.system.close();
});

/** What an element says, and whether all of it is inside the window, with nothing before it. Empty ones are left out. */
function look(page: Page, wanted: string): Promise<{ readonly text: string; readonly isAtHand: boolean }[]> {
  return page.locator(wanted).evaluateAll((elements) =>
    elements
      .filter((each) => each.textContent !== '' && each.getClientRects().length > 0)
      .map((each) => {
        const { left, top, right, bottom } = each.getBoundingClientRect();
        const isInside = left >= 0 && top >= -1 && right <= window.innerWidth && bottom <= window.innerHeight + 1;
        const hit = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
        return { text: each.textContent!, isAtHand: isInside && hit !== null && each.contains(hit) };
      }),
  );
}

/** How far the page is scrolled, once it stands still: the wheel's turn arrives with a frame, or with the one after. */
function scrolled(page: Page): Promise<number> {
  return page.evaluate(async () => {
    let at = window.scrollY;
    for (let still = 0; still < 3; still += 1) {
      await new Promise(requestAnimationFrame);
      if (window.scrollY !== at) still = 0;
      at = window.scrollY;
    }
    return at;
  });
}

/** Turns the wheel over a card, from the top of the page to its end, and says which elements were never at hand. */
async function neverAtHand(page: Page, card: string, wanted: string): Promise<string[]> {
  await page.evaluate(() => window.scrollTo(0, 0));
  const place = (await page.locator(card).boundingBox())!;
  const { height } = page.viewportSize()!;
  await page.mouse.move(place.x + place.width / 2, Math.min(height - 5, Math.max(place.y + 5, height / 2)));
  const missing = new Set((await look(page, wanted)).map(({ text }) => text));
  for (let before = -1, at = await scrolled(page); at !== before; before = at, at = await scrolled(page)) {
    for (const { text, isAtHand } of await look(page, wanted)) if (isAtHand) missing.delete(text);
    await page.mouse.wheel(0, Math.round(height / 2));
  }
  return [...missing];
}

describe.each(sizes)('in a window of %i by %i', (width, height) => {
  it('the wheel brings every button, every sentence and every story into sight, and nothing is wider than the window', async () => {
    const { page } = view;
    await page.setViewportSize({ width, height });
    await page.goto(`${shown.url}/#live`);
    await page.locator('#controls [data-action]').first().waitFor();
    expect(await neverAtHand(page, '#controls', '#controls button, #controls p')).toEqual([]);
    const oldest = '#timeline > .story:last-child';
    await page.locator(oldest).scrollIntoViewIfNeeded();
    expect(await look(page, oldest)).toMatchObject([{ isAtHand: true }]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
  });

  it('and so in the lesson, with the live system beside it', async () => {
    const { page } = view;
    await page.setViewportSize({ width, height });
    // The longest: it shows a header.
    await page.goto(`${shown.url}/#lesson/4/1/live`);
    await page.locator('#lesson[data-step="4"][data-shows="live"]').waitFor();
    expect(await neverAtHand(page, '#lesson', '#lesson button, #lesson a, #lesson p, #lesson td')).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
  });
});

it('by the keyboard alone the timeline can be scrolled to its end', async () => {
  const { page } = view;
  await page.setViewportSize({ width: 1_280, height: 720 });
  await page.goto(`${shown.url}/#live`);
  await page.locator('[data-action="crash-consumer"]').focus();
  await page.keyboard.press('Tab');
  expect(await page.evaluate(() => document.activeElement?.id)).toBe('timeline');
  await page.keyboard.press('End');
  await page.waitForFunction(() => {
    const timeline = document.getElementById('timeline')!;
    return timeline.scrollTop + timeline.clientHeight >= timeline.scrollHeight - 1;
  });
});
