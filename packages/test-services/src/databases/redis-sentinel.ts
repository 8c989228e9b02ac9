import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { startGuardian } from '../guardian.ts';
import { pickPorts } from '../ports.ts';
import { newServiceFolder } from './account.ts';
import { redisAnswers } from './answers.ts';
import { missing, provideProgram } from './binaries.ts';
import { redisNode, redisProgram } from './redis.ts';
import { ServiceProcess } from './service-process.ts';

export interface RedisSentinelService {
  /** For ioredis: `new Redis({ sentinels, name })`. */
  readonly sentinels: readonly { readonly host: string; readonly port: number }[];
  readonly name: string;
  /** Resolves when the replica has all that was written so far. */
  replicate(): Promise<void>;
  /** The replica hears of nothing that is written from now on. Connections that are open stay; new ones to the primary are refused. */
  cutReplication(): Promise<void>;
  /** Kills the primary (SIGKILL), and resolves when the sentinels have made the replica the primary. */
  failOver(): Promise<void>;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const HOST = '127.0.0.1';
const NAME = 'sendonce';
const SENTINELS = 3;
const QUORUM = 2;
const DOWN_AFTER_MS = 500;
const FAILOVER_TIMEOUT_MS = 1_000;
const PATIENCE_MS = 60_000;

/** A primary, a replica and three sentinels, on loopback. */
export async function startRedisSentinel(): Promise<RedisSentinelService> {
  const program = provideProgram(redisProgram);
  if (program === null) throw missing(redisProgram);
  const folder = newServiceFolder('redis-sentinel');
  const guardian = startGuardian(folder);
  const [primaryPort, replicaPort, ...sentinelPorts] = (await pickPorts(2 + SENTINELS)) as [
    number,
    number,
    ...number[],
  ];
  const primaryProcess = redisNode(folder, 'primary', primaryPort, guardian, {});
  const replicaProcess = redisNode(folder, 'replica', replicaPort, guardian, {
    replicaof: `${HOST} ${primaryPort}`,
    'repl-diskless-sync-delay': '0',
  });
  const sentinelProcesses = sentinelPorts.map((port, index) => {
    const name = `sentinel-${index}`;
    // A sentinel writes what it learns into its own settings.
    const settings = join(folder, `${name}.conf`);
    mkdirSync(join(folder, name));
    writeFileSync(settings, sentinelSettings(port, primaryPort, join(folder, name)));
    const answers = () => redisAnswers(port);
    return new ServiceProcess({ name, program, args: [settings, '--sentinel'], folder, guardian, answers });
  });
  const processes = [primaryProcess, replicaProcess, ...sentinelProcesses];
  await Promise.all([primaryProcess.start(), replicaProcess.start()]);
  const [primary, replica] = [primaryPort, replicaPort].map((port) => new Redis({ host: HOST, port })) as [
    Redis,
    Redis,
  ];
  // It breaks when the primary is killed, as it is meant to.
  primary.on('error', () => {});
  await until('the replica to follow', async () =>
    (await replica.info('replication')).includes('master_link_status:up'),
  );
  await Promise.all(sentinelProcesses.map((one) => one.start()));
  const sentinels = sentinelPorts.map((port) => new Redis({ host: HOST, port }));
  await until('the sentinels to know one another', async () =>
    (await Promise.all(sentinels.map(knowsAll))).every(Boolean),
  );
  const close = async (): Promise<void> => {
    for (const client of [primary, replica, ...sentinels]) client.disconnect();
    await Promise.all(processes.map((one) => one.end('SIGKILL')));
    await guardian.release();
  };
  return {
    sentinels: sentinelPorts.map((port) => ({ host: HOST, port })),
    name: NAME,
    async replicate() {
      const offsetOf = async (client: Redis) => /master_repl_offset:(\d+)/.exec(await client.info('replication'))?.[1];
      const written = Number(await offsetOf(primary));
      await until('the replica to catch up', async () => Number(await offsetOf(replica)) >= written);
    },
    async cutReplication() {
      // The replica has no password to come back with.
      await primary.config('SET', 'requirepass', 'not known to the replica');
      await primary.call('CLIENT', 'KILL', 'TYPE', 'replica');
      await until('the replica to be cut off', async () =>
        (await replica.info('replication')).includes('master_link_status:down'),
      );
    },
    async failOver() {
      primary.disconnect();
      await primaryProcess.end('SIGKILL');
      await until('the replica to be the primary', async () => {
        const [address, role] = await Promise.all([
          sentinels[0]!.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', NAME) as Promise<string[]>,
          replica.info('replication'),
        ]);
        return address[1] === String(replicaPort) && role.includes('role:master');
      });
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

function sentinelSettings(port: number, primaryPort: number, dataFolder: string): string {
  return [
    `bind ${HOST}`,
    `port ${port}`,
    `dir ${dataFolder}`,
    `sentinel monitor ${NAME} ${HOST} ${primaryPort} ${QUORUM}`,
    `sentinel down-after-milliseconds ${NAME} ${DOWN_AFTER_MS}`,
    `sentinel failover-timeout ${NAME} ${FAILOVER_TIMEOUT_MS}`,
    '',
  ].join('\n');
}

async function knowsAll(sentinel: Redis): Promise<boolean> {
  const state = (await sentinel.call('SENTINEL', 'MASTER', NAME)) as string[];
  const fieldOf = (field: string): string | undefined => state[state.indexOf(field) + 1];
  return fieldOf('num-slaves') === '1' && fieldOf('num-other-sentinels') === String(SENTINELS - 1);
}

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + PATIENCE_MS;
  while (!(await holds())) {
    if (performance.now() > deadlineMs) throw new Error(`Waited ${PATIENCE_MS} ms for ${what}.`);
    await delay(20);
  }
}
