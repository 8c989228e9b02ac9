import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { watchableTimes } from '../../src/lab/lab-cluster.ts';
import { ShownPage, showSystem, startBrowser } from './page.testkit.ts';

/**
 * `npm run screenshots`: retakes the pictures in docs/images from the running demo. Each shows what the text beside it says, or the
 * script fails.
 */
const images = join(import.meta.dirname, '../../../../docs/images');
const viewport = { width: 1_440, height: 1_080 };

await mkdir(images, { recursive: true });
const shown = await showSystem(watchableTimes);
try {
  await using browser = await startBrowser({ viewport, reducedMotion: 'reduce' });
  const view = new ShownPage(await browser.open(shown.url));
  const { page } = view;
  const take = (name: string) => page.screenshot({ path: join(images, `${name}.png`) });

  for (let payments = 0; payments < 4; payments += 1) {
    await view.press('pay-one');
    await view.settledAt('accepted', payments + 1);
  }
  await view.press('kill-leader');
  await view.story(/same numbers sent again/, /recognises/);
  await page.locator('.chip[data-state="running"][data-broker]').nth(2).waitFor();
  await view.press('restart-producer');
  await view.shows('.earlier', 'before: producer id 5001');
  await view.press('resend');
  await view.settledAt('caught-by-key', 1);
  await view.press('lose-reply');
  await view.story(/the reply is lost/, /recognises/, /acknowledged/);
  await view.settledAt('accepted', 6);
  await page.evaluate(() => {
    document.getElementById('controls')?.scrollTo(0, 0);
    window.scrollTo(0, 0);
  });
  await page.mouse.move(0, 0);
  await take('page');

  await page.emulateMedia({ colorScheme: 'dark' });
  await page.goto(`${shown.url}/#lesson/7/2`);
  await page.locator('#lesson[data-step="7"][data-moment="2"]').waitFor();
  await take('lesson');
} finally {
  await shown.system.close();
}
