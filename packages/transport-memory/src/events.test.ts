import { expect, it } from 'vitest';
import { EventLog } from './events.ts';

it('the last ten thousand events are kept, twice as many at most, and all are counted', () => {
  const log = new EventLog(() => 7);
  for (let brokerId = 0; brokerId < 50_000; brokerId++) {
    log.record({ type: 'broker-killed', brokerId });
    expect(log.kept.length).toBeLessThanOrEqual(20_000);
  }
  expect(log.kept.length).toBeGreaterThanOrEqual(10_000);
  expect(log.kept.at(-1)).toEqual({ atMs: 7, type: 'broker-killed', brokerId: 49_999 });
  expect(log.counts.get('broker-killed')).toBe(50_000);
});

it('who stopped listening hears nothing more', () => {
  const log = new EventLog(() => 0);
  const heard: string[] = [];
  const stop = log.listen(({ type }) => void heard.push(type));
  log.record({ type: 'controller-restarted' });
  stop();
  log.record({ type: 'controller-restarted' });
  expect([heard, log.hasListeners]).toEqual([['controller-restarted'], false]);
});
