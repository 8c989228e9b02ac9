import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

/** A transport whose connection keeps no process alive; it loses the first produce request and answers the second. */
const transport = `{
  connect: async () => {}, close: async () => {},
  metadata: async (topics) => ({ brokers: [], topics: topics.map((topic) => ({ topic, errorCode: 0,
    partitions: [{ partition: 0, errorCode: 0, leader: 1, leaderEpoch: 0 }] })) }),
  initProducerId: async () => ({ producerId: 1n, epoch: 0 }),
  produce: async (broker, { partitions }) => {
    if (calls++ === 0) throw new TransportError('reset', { sent: 'maybe' });
    return partitions.map(({ topic, partition }) => ({ topic, partition, errorCode: 0, baseOffset: 7n, logAppendTimeMs: -1, logStartOffset: 0n }));
  },
}`;

function run(body: string) {
  const program = `
    import { createProducer, TransportError } from '@sendonce/producer-core';
    let calls = 0;
    const producer = await createProducer({ transport: ${transport} });
    ${body}`;
  return spawnSync(process.execPath, ['--conditions=@sendonce/source', '--input-type=module', '--eval', program], {
    cwd: fileURLToPath(new URL('..', import.meta.url)),
    encoding: 'utf8',
    timeout: 20_000,
  });
}

describe('the process', () => {
  test('lives until what was sent is settled, retries included', () => {
    const { status, stdout, stderr } = run(`
      const { offset } = await producer.send({ topic: 't', value: 'v' });
      console.log('stored at', offset);
      await producer.close();`);
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: 'stored at 7n\n', stderr: '' });
  });

  test('ends by itself when nothing is pending, although nobody closed the producer', () => {
    const { status, stdout, signal } = run(`
      await producer.send({ topic: 't', value: 'v' });
      console.log('done');`);
    expect({ status, stdout, signal }).toEqual({ status: 0, stdout: 'done\n', signal: null });
  });
});
