import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { ZipkinSpan } from '@sendonce/test-services/observability';
import { expect, test } from 'vitest';

const main = join(import.meta.dirname, '../src/traces.ts');

function start(environment: NodeJS.ProcessEnv) {
  return spawn(process.execPath, ['--conditions=@sendonce/source', main], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...environment },
  });
}

async function readUntil(stream: NodeJS.ReadableStream, end: string): Promise<string> {
  let read = '';
  for await (const chunk of stream) {
    read += String(chunk);
    if (read.includes(end)) break;
  }
  return read;
}

const traceOf = async (link: string): Promise<ZipkinSpan[]> => {
  const response = await fetch(link.replace('/zipkin/traces/', '/api/v2/trace/'));
  return (await response.json()) as ZipkinSpan[];
};

test('the demo prints links to a payment that was retried and one that was recognised, and Ctrl-C stops all of it', async () => {
  const demo = start({});
  const said = await readUntil(demo.stdout, 'Ctrl-C');
  const [retried, recognised] = said.match(/http:\S+\/zipkin\/traces\/\w+/g) ?? [];

  const attempts = (await traceOf(retried!)).filter(({ name }) => name === 'attempt payments');
  expect(attempts.length).toBeGreaterThan(2);
  expect(attempts.filter(({ tags }) => tags?.error !== undefined)).toHaveLength(attempts.length - 1);
  expect(said).toContain(`took ${attempts.length} attempts`);

  const [duplicate] = (await traceOf(recognised!)).filter(
    ({ tags }) => tags?.['sendonce.dedup.outcome'] === 'duplicate',
  );
  const firstTrace = await traceOf(
    recognised!.replace(/\w+$/, duplicate!.tags!['sendonce.dedup.first.trace_id'] as string),
  );
  const first = firstTrace.find(({ id }) => id === duplicate!.tags!['sendonce.dedup.first.span_id']);
  expect(first?.tags?.['sendonce.dedup.outcome']).toBe('processed');

  demo.kill('SIGINT');
  const [status] = await once(demo, 'exit');
  expect(status).toBe(0);
  await expect(fetch(retried!)).rejects.toThrow();
});

test('without Java it says what to install', async () => {
  const demo = start({ PATH: '/nowhere' });
  const [said] = await Promise.all([text(demo.stderr), once(demo, 'close')]);
  expect(said).toMatch(/needs Java 17 and Maven\. .*apt-get install openjdk-17-jre-headless maven/);
  expect(demo.exitCode).toBe(1);
});
