import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { order, post } from '../src/system/memory-system.testkit.ts';

function start(script: string, environment: Readonly<Record<string, string>>) {
  const child: ChildProcess = spawn(
    process.execPath,
    ['--conditions=@sendonce/source', join(import.meta.dirname, '../src', script)],
    { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...environment } },
  );
  return child as ChildProcess & { stdout: NodeJS.ReadableStream; stderr: NodeJS.ReadableStream };
}

async function untilUrl(output: NodeJS.ReadableStream): Promise<string> {
  for await (const line of createInterface({ input: output })) {
    const url = line.match(/http:\/\/127\.0\.0\.1:\d+/)?.[0];
    if (url !== undefined) return url;
  }
  throw new Error('it ended without a URL');
}

describe('the payment system as a command', () => {
  it('starts with nothing installed, takes a payment, and stops in an orderly way when it is told to', async () => {
    const child = start('web.ts', { PORT: '0' });
    const closed = once(child, 'close');
    const url = await untilUrl(child.stdout);
    const { status } = await post({ url }, order, { 'idempotency-key': 'one' });
    expect(status).toBe(201);
    child.kill('SIGTERM');
    expect(await closed).toEqual([0, null]);
  });

  it.each(['web.ts', 'real.ts'])(
    '%s: a port that is taken is a sentence that says what to do, at once, and status 1',
    async (script) => {
      const other = createServer().listen(0, '127.0.0.1');
      await once(other, 'listening');
      const { port } = other.address() as AddressInfo;
      const child = start(script, { PORT: String(port) });
      const [stderr] = await Promise.all([text(child.stderr), once(child, 'close')]);
      other.close();
      expect(stderr).toBe(
        `Port ${port} is taken. Stop what uses it, or choose another: PORT=8081 (PORT=0 takes any free one).\n`,
      );
      expect(child.exitCode).toBe(1);
    },
  );

  it('Ctrl-C before it has started ends it at once, with a sentence', async () => {
    // A database that takes the connection and says nothing: it never starts.
    const silent = createServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const child = start('real.ts', {
      PORT: '0',
      KAFKA_BROKERS: '127.0.0.1:1',
      DATABASE_URL: `postgres://postgres@127.0.0.1:${(silent.address() as AddressInfo).port}/payments`,
      REDIS_URL: 'redis://127.0.0.1:1',
    });
    const closed = once(child, 'close');
    const stderr = text(child.stderr);
    const [socket] = (await once(silent, 'connection')) as [Socket];
    socket.on('error', () => socket.destroy());
    child.kill('SIGINT');
    expect(await closed).toEqual([130, null]);
    expect(await stderr).toBe('Stopped before it had started.\n');
    silent.close();
  });

  it('a setting that makes no sense is a sentence that names it', async () => {
    const child = start('real.ts', { PORT: 'eighty' });
    const [stderr] = await Promise.all([text(child.stderr), once(child, 'close')]);
    expect(stderr).toBe('PORT must be a number from 0 (any free one) to 65535.\n');
    expect(child.exitCode).toBe(1);
  });

  it('a database that does not answer is a sentence that shows no password, and nothing is left behind', async () => {
    const child = start('real.ts', {
      PORT: '0',
      KAFKA_BROKERS: '127.0.0.1:1',
      DATABASE_URL: 'postgres://postgres:secret@127.0.0.1:1/payments',
      REDIS_URL: 'redis://127.0.0.1:1',
    });
    const [stderr, stdout] = await Promise.all([text(child.stderr), text(child.stdout), once(child, 'close')]);
    expect(stderr).toMatch(
      /^The demo could not go on: Postgres can’t be used: .*127\.0\.0\.1:1\. Does DATABASE_URL name /m,
    );
    expect(stderr + stdout).not.toContain('secret');
    expect(child.exitCode).toBe(1);
  });
});
