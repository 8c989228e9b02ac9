import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { MemoryCluster } from '@sendonce/transport-memory';
import { type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { Lab } from '../../src/lab/lab.ts';
import { createLabCluster, type LabTimes } from '../../src/lab/lab-cluster.ts';
import { pagePlugin } from '../../src/page/index.ts';
import { memoryPaymentsCluster } from '../../src/system/cluster/memory-payments-cluster.ts';
import { type PaymentSystem, startPaymentSystem } from '../../src/system/payment-system.ts';

/** Short, so that the tests are; long enough that a loaded machine does not look like an outage. */
const testTimes: LabTimes = { requestTimeoutMs: 2_000, deliveryTimeoutMs: 6_000, outageMs: 1_500 };

const chromiumPath = '/usr/bin/chromium';
const chromiumArguments = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export interface ShownSystem {
  readonly cluster: MemoryCluster;
  readonly system: PaymentSystem;
  readonly url: string;
  readonly times: LabTimes;
}

/** The payment system with its page, on the memory cluster and a free port. */
export async function showSystem(times: LabTimes = testTimes): Promise<ShownSystem> {
  const cluster = createLabCluster(times);
  const { requestTimeoutMs, deliveryTimeoutMs } = times;
  const system = await startPaymentSystem({
    cluster: memoryPaymentsCluster(cluster, { requestTimeoutMs, connectTimeoutMs: requestTimeoutMs }),
    database: 'pglite',
    notifications: 'memory',
    port: 0,
    logger: false,
    times: { requestTimeoutMs, deliveryTimeoutMs, lingerMs: 0 },
    instruments: [(running) => pagePlugin(new Lab({ system: running, cluster, times }))],
  });
  return { cluster, system, url: system.url, times };
}

export interface Browser extends AsyncDisposable {
  /** A new window. What goes wrong in it is kept: see `takeProblems`. */
  open(url: string): Promise<Page>;
  closePages(): Promise<void>;
  /** Errors of scripts and of the console since the last call. */
  takeProblems(): readonly string[];
}

/** A Chromium with a profile of its own. Fails, saying what is missing, where there is none. */
export async function startBrowser(options: BrowserContextOptions = {}): Promise<Browser> {
  const profile = await mkdtemp(join(tmpdir(), 'sendonce-chromium-'));
  const problems: string[] = [];
  let context: BrowserContext;
  try {
    context = await chromium.launchPersistentContext(profile, {
      executablePath: chromiumPath,
      args: chromiumArguments,
      viewport: { width: 1_280, height: 900 },
      ...options,
    });
  } catch (error) {
    await rm(profile, { recursive: true, force: true });
    throw new Error(`Chromium did not start. On Debian: apt-get install chromium. ${(error as Error).message}`);
  }
  // All is on this machine: what takes longer does not come.
  context.setDefaultTimeout(10_000);
  return {
    takeProblems: () => problems.splice(0),
    async open(url) {
      const page = await context.newPage();
      page.on('pageerror', (error) => problems.push(String(error)));
      page.on('console', (message) => {
        if (message.type() === 'error') problems.push(message.text());
      });
      await page.goto(url);
      return page;
    },
    async closePages() {
      await Promise.all(context.pages().map((page) => page.close()));
    },
    async [Symbol.asyncDispose]() {
      await context.close();
      await rm(profile, { recursive: true, force: true });
    },
  };
}

export type TileName = 'accepted' | 'stored' | 'caught-by-broker' | 'caught-by-key' | 'applied';
export type Tiles = Readonly<Record<TileName, number>>;

const tileNames: readonly TileName[] = ['accepted', 'stored', 'caught-by-broker', 'caught-by-key', 'applied'];

/** The page, as a person reads and presses it. Everything waits for what it is about to be shown. */
export class ShownPage {
  readonly page: Page;

  constructor(page: Page) {
    this.page = page;
  }

  button(action: string) {
    return this.page.locator(`[data-action="${action}"]`);
  }

  /** Waits until it can be pressed. */
  async press(action: string): Promise<void> {
    await this.page.locator(`[data-action="${action}"]:not([aria-disabled])`).click();
  }

  async tiles(): Promise<Tiles> {
    const texts = await this.page
      .locator('#tiles .value')
      .evaluateAll((values) => values.map((value) => Number(value.textContent?.replaceAll(',', ''))));
    return Object.fromEntries(tileNames.map((name, index) => [name, texts[index]])) as Tiles;
  }

  /** Waits until a tile shows a number. */
  async shownAt(name: TileName, value: number): Promise<void> {
    await this.page
      .locator(`[data-tile="${name}"] .value`)
      .filter({ hasText: new RegExp(`^${value.toLocaleString('en-US')}$`) })
      .waitFor();
  }

  async shownAbove(name: TileName, value: number): Promise<void> {
    for (;;) {
      const shown = (await this.tiles())[name];
      if (shown > value) return;
      const same = new RegExp(`^${shown.toLocaleString('en-US')}$`);
      await this.page.locator(`[data-tile="${name}"] .value`).filter({ hasNotText: same }).waitFor();
    }
  }

  /** The tiles once one of them shows a number, and everything has come to rest. */
  async settledAt(name: TileName, value: number): Promise<Tiles> {
    await this.shownAt(name, value);
    return this.settled();
  }

  async settled(): Promise<Tiles> {
    await this.page.locator('#verdict[data-verdict="balanced"]').waitFor();
    return this.tiles();
  }

  /** The newest story of the timeline that has all of these parts, in this order. */
  async story(...parts: readonly RegExp[]): Promise<string> {
    const pattern = new RegExp(parts.map(({ source }) => source).join('[^]*'));
    const story = this.page.locator('.story').filter({ hasText: pattern }).first();
    await story.waitFor();
    return (await story.textContent()) ?? '';
  }

  async shows(selector: string, text: string | RegExp): Promise<void> {
    await this.page.locator(selector).filter({ hasText: text }).first().waitFor();
  }
}
