import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const run = (script: string) =>
  promisify(execFile)(process.execPath, ['--conditions=@sendonce/source', '--input-type=module', '-e', script], {
    cwd: import.meta.dirname,
    timeout: 20_000,
  });

const prelude = `
  import { createMemoryCluster } from '@sendonce/transport-memory';
  const cluster = createMemoryCluster({ topics: { payments: {} } });
  const transport = cluster.transport();
  await transport.connect();
  const batch = new Uint8Array(10);
  const produce = (timeoutMs) =>
    transport.produce(1, { acks: 'all', timeoutMs, partitions: [{ topic: 'payments', partition: 0, batch }] });
`;

it('an unanswered request keeps the process alive, as a socket does', async () => {
  const { stdout } = await run(`${prelude}
    cluster.faults.loseReply();
    await produce(50).catch((error) => console.log(error.code));
  `);
  expect(stdout).toBe('REQUEST_TIMEOUT\n');
});

it('an idle cluster does not, though nobody closed anything', async () => {
  const { stdout } = await run(`${prelude}
    const [{ errorCode }] = await produce(3_600_000);
    console.log(errorCode);
  `);
  expect(stdout).toBe('87\n');
});
