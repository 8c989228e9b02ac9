import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { chromium } from 'playwright-core';
import { repositoryRoot } from './workspaces.ts';

// Takes the picture of a trace with retries that the documentation shows: npm run demo:traces, its link in Chromium, a screenshot.
//
//   node scripts/trace-picture.ts      needs Java, Maven and Chromium (Debian: apt-get install chromium)

const picture = join(repositoryRoot, 'docs', 'images', 'trace-with-retries.png');
const executablePath = '/usr/bin/chromium';

const demo = spawn('npm', ['run', '--silent', 'demo:traces'], {
  cwd: repositoryRoot,
  stdio: ['ignore', 'pipe', 'inherit'],
  detached: true,
});
const ended = once(demo, 'exit');
try {
  let link: string | undefined;
  for await (const line of createInterface({ input: demo.stdout })) {
    link = line.match(/http\S+\/zipkin\/traces\/\w+/)?.[0];
    if (link !== undefined) break;
  }
  if (link === undefined) throw new Error('The demo ended without a link.');
  const browser = await chromium.launch({
    executablePath,
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
  const page = await browser.newPage({ viewport: { width: 1400, height: 560 }, deviceScaleFactor: 1 });
  await page.goto(link);
  // The producer's part alone, and the attempt whose answer was lost with what is known of it.
  await page.getByText('produce payments').first().click();
  await page.getByText('Focus on selected span').click();
  await page.getByText('attempt payments').nth(1).click();
  await page.getByText('sendonce.retry.class').first().scrollIntoViewIfNeeded();
  mkdirSync(dirname(picture), { recursive: true });
  await page.screenshot({ path: picture });
  await browser.close();
  console.log(`wrote ${picture}`);
} finally {
  process.kill(-demo.pid!, 'SIGINT');
  await ended;
}
