import { request } from 'node:http';
import { connect, createServer, type Socket } from 'node:net';
import { createProducer } from '@sendonce/producer-core';
import fastify, { type FastifyInstance } from 'fastify';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Lab } from '../../src/lab/lab.ts';
import { pagePlugin } from '../../src/page/index.ts';
import { type Browser, ShownPage, type ShownSystem, showSystem, startBrowser } from './page.testkit.ts';

const phone = { viewport: { width: 360, height: 740 } };

let shown: ShownSystem;
let browser: Browser;

beforeAll(async () => {
  [shown, browser] = await Promise.all([showSystem(), startBrowser()]);
});

afterAll(async () => {
  await browser?.[Symbol.asyncDispose]();
  await shown?.system.close();
});

// A browser has six connections to one server, and each page that is open holds one.
afterEach(() => browser.closePages());

async function opened(): Promise<ShownPage> {
  const view = new ShownPage(await browser.open(shown.url));
  await view.shows('#connection', /^live$/);
  return view;
}

it('by the keyboard alone: from the top of the page to a payment, and on to the next button', async () => {
  const view = await opened();
  const { page } = view;
  const before = await view.tiles();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.locator('#controls:focus').waitFor();
  await page.keyboard.press('Tab');
  await page.locator('[data-action="pay-one"]:focus').waitFor();
  await page.keyboard.press('Enter');
  await view.settledAt('accepted', before.accepted + 1);
  // The state has changed, and the keyboard is where it was.
  await page.locator('[data-action="pay-one"]:focus').waitFor();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  await page.locator('[data-action="stream"]:focus').waitFor();
  await page.keyboard.press('Space');
  await page.locator('[data-action="stream"][aria-pressed="true"]:focus').waitFor();
  await page.keyboard.press('Space');
  await page.locator('[data-action="stream"][aria-pressed="false"]:focus').waitFor();
  await view.settled();
});

it('every button has one sentence beside it that says what to expect, and a screen reader is told it', async () => {
  const { page } = await opened();
  await page.locator('[data-action]').first().waitFor();
  for (const button of await page.locator('[data-action]').all()) {
    const sentence = page.locator(`#${await button.getAttribute('aria-describedby')}`);
    expect(await sentence.textContent()).toMatch(/\w.*[.:!]$/);
  }
});

it('on a phone nothing is wider than the screen, in the live view and in each idea of the lesson', async () => {
  const view = await opened();
  const { page } = view;
  await page.setViewportSize(phone.viewport);
  await view.press('pay-hundred');
  await view.settled();
  const width = () => page.evaluate(() => document.documentElement.scrollWidth);
  expect(await width()).toBe(360);
  for (let step = 1; step <= 12; step += 1) {
    await page.goto(`${shown.url}/#lesson/${step}/last`);
    await page.locator(`#lesson[data-step="${step}"]`).waitFor();
    expect([step, await width()]).toEqual([step, 360]);
  }
});

/** Contrast of each kind of text against what lies behind it, as WCAG counts it. */
function contrasts(page: Page): Promise<{ readonly what: string; readonly ratio: number }[]> {
  return page.evaluate(() => {
    const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true })!;
    // The canvas resolves every colour syntax, color-mix() too.
    const rgb = (colour: string): [number, number, number, number] => {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = colour;
      canvas.fillRect(0, 0, 1, 1);
      return [...canvas.getImageData(0, 0, 1, 1).data] as [number, number, number, number];
    };
    const luminance = (colour: readonly number[]): number => {
      const [r, g, b] = colour.slice(0, 3).map((part) => {
        const share = part / 255;
        return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
      }) as [number, number, number];
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = (element: Element | null): readonly number[] => {
      for (let at = element; at !== null; at = at.parentElement) {
        const colour = rgb(getComputedStyle(at).backgroundColor);
        if (colour[3] === 255) return colour;
      }
      return [255, 255, 255];
    };
    const found = new Map<string, number>();
    for (const element of document.querySelectorAll('body *')) {
      const hasText = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent?.trim() !== '');
      if (!hasText || element.getClientRects().length === 0 || element.closest('[data-lit="false"]')) continue;
      const [one, other] = [luminance(rgb(getComputedStyle(element).color)), luminance(behind(element))];
      const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
      const what = `${element.tagName.toLowerCase()}.${element.className} in ${element.parentElement?.className}`;
      found.set(what, Math.min(ratio, found.get(what) ?? 21));
    }
    return [...found].map(([what, ratio]) => ({ what, ratio }));
  });
}

describe.each(['light', 'dark'] as const)('in %s', (colorScheme) => {
  it('all text stands out enough from what is behind it', async () => {
    const view = await opened();
    await view.page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await view.press('lose-reply');
    await view.story(/recognises/, /acknowledged/);
    await view.settled();
    const found = await contrasts(view.page);
    expect(found.length).toBeGreaterThan(30);
    expect(found.filter(({ ratio }) => ratio < 4.5)).toEqual([]);
    const paper = await view.page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    expect(paper).toBe(colorScheme === 'dark' ? 'rgb(14, 18, 24)' : 'rgb(244, 245, 248)');
  });
});

it('who asked for less motion sees none', async () => {
  const view = await opened();
  const animations = () =>
    view.page.evaluate(() => {
      const slot = document.createElement('li');
      slot.className = 'slot';
      slot.dataset.state = 'in-flight';
      document.body.append(slot);
      const name = getComputedStyle(slot).animationName;
      slot.remove();
      return name;
    });
  await view.page.emulateMedia({ reducedMotion: 'no-preference' });
  expect(await animations()).toBe('flight');
  await view.page.emulateMedia({ reducedMotion: 'reduce' });
  expect(await animations()).toBe('none');
});

it('a page in the background holds no connection, and has the state again when it is looked at', async () => {
  const view = await opened();
  // Keeps each stream that the page opens, to be asked for its state.
  await view.page.addInitScript(() => {
    const sources: EventSource[] = [];
    const Original = window.EventSource;
    window.EventSource = class extends Original {
      constructor(url: string | URL) {
        super(url);
        sources.push(this);
      }
    };
    Object.assign(window, { sources });
  });
  await view.page.reload();
  await view.shows('#connection', /^live$/);
  const openStreams = () =>
    view.page.evaluate(
      () =>
        (window as unknown as { sources: EventSource[] }).sources.filter(
          ({ readyState }) => readyState !== EventSource.CLOSED,
        ).length,
    );
  const hide = (hidden: boolean) =>
    view.page.evaluate((isHidden) => {
      Object.defineProperty(document, 'hidden', { configurable: true, value: isHidden });
      document.dispatchEvent(new Event('visibilitychange'));
    }, hidden);
  const before = await view.tiles();
  expect(await openStreams()).toBe(1);
  await hide(true);
  expect(await openStreams()).toBe(0);
  await shown.system.pay(
    { from: 'account-1', to: 'account-2', amountMinor: 100, currency: 'EUR' },
    'in the background',
  );
  await hide(false);
  await view.settledAt('accepted', before.accepted + 1);
  expect(await openStreams()).toBe(1);
});

it('a place that the lesson does not have is said, with a way back in', async () => {
  const view = await opened();
  await view.page.goto(`${shown.url}/#lesson/99`);
  await view.shows('#lesson', 'The lesson has the steps 1 to 12.');
  await view.page.locator('#lesson a').click();
  await view.page.locator('#lesson[data-step="1"]').waitFor();
  expect(browser.takeProblems().filter((problem) => !/Failed to load resource/.test(problem))).toEqual([]);
});

it('a step of the lesson that did not come is asked for again when the demo is heard again, whatever else came meanwhile', async () => {
  const view = await opened();
  const { page } = view;
  const slow = Promise.withResolvers<void>();
  await page.route('**/lesson/6', async (route) => {
    await slow.promise;
    await route.continue();
  });
  await page.route('**/lesson/7', (route) => route.abort());
  const goTo = (hash: string) =>
    page.evaluate((to) => {
      window.location.hash = to;
    }, hash);
  const asked = page.waitForRequest('**/lesson/6');
  await goTo('#lesson/6');
  await asked;
  await goTo('#lesson/7');
  await view.shows('#lesson', 'The demo does not answer.');
  // A step that nobody waits for any more is no sign of the one that is missing.
  const came = page.waitForResponse('**/lesson/6');
  slow.resolve();
  await (await came).finished();
  await page.evaluate(() => new Promise(requestAnimationFrame));
  await page.unroute('**/lesson/7');
  await shown.system.pay({ from: 'account-1', to: 'account-2', amountMinor: 100, currency: 'EUR' }, 'heard-again');
  await page.locator('#lesson[data-step="7"]').waitFor();
  expect(browser.takeProblems().filter((problem) => !/Failed to load resource/.test(problem))).toEqual([]);
});

it('shows what others wrote as text, whatever it is', async () => {
  const view = await opened();
  const hostile = '<img src=x onerror="document.title=1">';
  await using stranger = await createProducer({ transport: shown.cluster.transport() });
  await stranger.send({
    topic: 'payments',
    value: JSON.stringify({ paymentId: hostile, from: hostile, to: 'account-1', amountMinor: 1, currency: 'EUR' }),
    headers: { 'idempotency-key': hostile },
  });
  const story = await view.story(/the ledger puts a payment aside/);
  expect(story).toContain(hostile);
  expect(await view.page.locator('img').count()).toBe(0);
  expect(browser.takeProblems()).toEqual([]);
});

it('when the connection breaks it says so, connects again, and shows what happened meanwhile', async () => {
  const port = Number(new URL(shown.url).port);
  const sockets = new Set<Socket>();
  let isDown = false;
  const between = createServer((socket) => {
    if (isDown) return void socket.destroy();
    const onward = connect(port, '127.0.0.1');
    for (const each of [socket, onward]) {
      sockets.add(each);
      each.on('error', () => each.destroy());
    }
    socket.pipe(onward).pipe(socket);
  });
  await new Promise<void>((resolve) => between.listen(0, '127.0.0.1', resolve));
  const address = between.address() as { port: number };
  const view = new ShownPage(await browser.open(`http://127.0.0.1:${address.port}/`));
  await view.shows('#connection', /^live$/);
  const before = await view.tiles();

  isDown = true;
  for (const socket of sockets) socket.destroy();
  await view.shows('#connection', /^connecting$/);
  await shown.system.pay({ from: 'account-1', to: 'account-2', amountMinor: 100, currency: 'EUR' }, 'meanwhile');
  isDown = false;
  await view.shows('#connection', /^live$/);
  await view.settledAt('accepted', before.accepted + 1);
  await browser.closePages();
  for (const socket of sockets) socket.destroy();
  await new Promise((resolve) => between.close(resolve));
  // The browser reports the broken connection; that is all it has to report.
  expect(browser.takeProblems().filter((problem) => !/Failed to load resource/.test(problem))).toEqual([]);
});

/** Node's own client, which lets us say what a browser would never let a page say. */
function ask(method: string, path: string, headers: Record<string, string> = {}): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = request(`${shown.url}${path}`, { method, headers }, (response) => {
      response.destroy();
      resolve(response.statusCode ?? 0);
    });
    asked.on('error', reject);
    asked.end(method === 'POST' ? '{}' : undefined);
  });
}

describe('on a Kafka that is not the demo’s own', () => {
  let outside: FastifyInstance;
  let url: string;

  beforeAll(async () => {
    // The same system, seen as a client of a real Kafka sees it.
    outside = fastify();
    await outside.register(pagePlugin(new Lab({ system: shown.system, cluster: null, times: shown.times })));
    url = await outside.listen({ host: '127.0.0.1', port: 0 });
  });

  afterAll(() => outside.close());

  it('buttons that can’t work are disabled and say why, and the server refuses them too', async () => {
    const view = new ShownPage(await browser.open(url));
    for (const action of ['lose-reply', 'lose-request', 'delay', 'kill-leader', 'freeze-leader', 'outlast-timeout']) {
      await view.page.locator(`[data-action="${action}"][aria-disabled="true"]`).waitFor();
      await view.shows(`#expect-${action}`, /^Not here: .*In memory mode it works\.$/);
      const response = await fetch(`${url}/lab/${action}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{}',
      });
      expect([response.status, await response.json()]).toEqual([409, { message: expect.stringMatching(/^Not here/) }]);
    }
    const before = await view.tiles();
    await view.button('kill-leader').focus();
    await view.page.keyboard.press('Enter');
    await view.press('pay-one');
    await view.settledAt('applied', before.applied + 1);
    expect(shown.cluster.eventCounts['broker-killed'] ?? 0).toBe(0);
    await view.page.goto(`${url}/#lesson/10/last`);
    await view.page.locator('[data-try="kill-leader"][aria-disabled="true"]').waitFor();
    await view.shows('#expect-try-kill-leader', /^Not here: .*In memory mode it works\.$/);
  });

  it('shows what a client hears, and says what it can’t know', async () => {
    const view = new ShownPage(await browser.open(url));
    await view.press('pay-one');
    await view.page.locator('.batch .numbers').first().waitFor();
    await view.shows('[data-tile="caught-by-broker"]', /\?.*only the brokers know/);
    await view.shows('.column', /Kept inside the broker/);
    await view.press('resend');
    await view.shows('.outcomes [data-status="duplicate"]', 'known, passed over');
    await view.settled();
  });
});

describe('the server takes orders from its own page alone', () => {
  const json = { 'content-type': 'application/json' };

  it.each([
    ['another site’s page', { ...json, origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }, 403],
    ['another port of this machine', { ...json, origin: 'http://127.0.0.1:1', 'sec-fetch-site': 'same-site' }, 403],
    ['an older browser on another site', { ...json, origin: 'https://evil.example' }, 403],
    ['a form', { 'content-type': 'text/plain', 'sec-fetch-site': 'none' }, 415],
    ['another name that leads here', { ...json, host: 'evil.example' }, 403],
    ['somebody at a terminal', json, 409],
  ])('%s: %j is answered %i', async (_, headers, status) => {
    // Nothing was sent that could be resent from here: whoever gets through is told so.
    expect(await ask('POST', '/lab/no-such-button', headers as Record<string, string>)).toBe(status);
  });

  it.each(['/', '/events', '/lesson/1', '/page/main.js'])('%s is not shown under another name', async (path) => {
    expect(await ask('GET', path, { host: 'evil.example' })).toBe(403);
    expect(await ask('GET', path)).toBe(200);
  });

  it('a HEAD of the stream takes nobody’s place', async () => {
    expect(await ask('HEAD', '/events')).toBe(404);
  });

  it.each(['/lesson/0', '/lesson/13', '/lesson/x', '/page/nothing.js', '/page/..%2Findex.ts'])(
    '%s is not there',
    async (path) => {
      expect(await ask('GET', path)).toBe(404);
    },
  );

  it('sends its headers: no inline script, no frame, no sniffing', async () => {
    const { headers } = await fetch(shown.url);
    expect(headers.get('content-security-policy')).toMatch(
      /default-src 'none'; script-src 'self';.*frame-ancestors 'none'/,
    );
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    const events = await fetch(`${shown.url}/events`);
    expect(events.headers.get('content-security-policy')).toContain("default-src 'none'");
    await events.body?.cancel();
  });
});
