import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { startKafka } from '../src/index.ts';

const isAlive = (pid: number) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

async function until(what: string, isTrue: () => boolean): Promise<void> {
  for (let tries = 0; !isTrue(); tries++) {
    if (tries === 200) throw new Error(`${what}: not within ten seconds`);
    await sleep(50);
  }
}

describe('startKafka', () => {
  test('starts a broker that takes topics, survives a kill, and leaves nothing behind', async () => {
    const kafka = await startKafka({ config: { 'broker.session.timeout.ms': 2_000 } });
    await kafka.createTopic({ topic: 'payments', partitions: 2 });
    expect(existsSync(join(kafka.logDir(1), 'payments-0'))).toBe(true);
    await kafka.kill(1);
    expect(kafka.state(1)).toBe('stopped');
    await kafka.restart(1);
    const pid = kafka.pid(1);
    expect(await kafka.readAll('payments')).toEqual([]);
    const folder = kafka.logDir(1);
    await kafka.stop();
    expect(isAlive(pid)).toBe(false);
    expect(existsSync(folder)).toBe(false);
  });

  test('brokers and their data go when the process that started them is killed', async () => {
    const script = `const { startKafka } = await import(${JSON.stringify(join(import.meta.dirname, '../src/index.ts'))});
      const kafka = await startKafka({ config: { 'num.io.threads': 2 } });
      console.log(JSON.stringify({ pid: kafka.pid(1), folder: kafka.logDir(1) }));
      setInterval(() => {}, 1000);`;
    const parent = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const line = await new Promise<string>((resolve) => parent.stdout.once('data', (chunk) => resolve(String(chunk))));
    const { pid, folder } = JSON.parse(line) as { pid: number; folder: string };
    expect(isAlive(pid)).toBe(true);
    parent.kill('SIGKILL');
    await until('the broker ends', () => !isAlive(pid));
    await until('its data are removed', () => !existsSync(folder));
  });

  test('an action on a broker in the wrong state says so', async () => {
    await using kafka = await startKafka({ config: { 'num.io.threads': 2 } });
    expect(() => kafka.resume(1)).toThrow("Can't resume broker 1: it is running, not frozen.");
    expect(() => kafka.pid(2)).toThrow('There is no broker 2');
  });
});
