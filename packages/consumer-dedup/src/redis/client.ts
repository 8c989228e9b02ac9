import type { Script } from './script.ts';

export type RedisArgument = string | number | Buffer;

/** One server. */
export interface RedisNode {
  call(command: string, ...args: RedisArgument[]): Promise<unknown>;
}

/** The part of ioredis's `Redis` and `Cluster` that is used. A `Redis` may have found its server by Sentinel. */
export interface RedisClient extends RedisNode {
  callBuffer(command: string, ...args: RedisArgument[]): Promise<unknown>;
  readonly isCluster: boolean;
  readonly options?: { readonly enableAutoPipelining?: boolean | undefined };
  /** A `Cluster` only. */
  nodes?(role: 'master'): readonly RedisNode[];
}

/** Runs a script by its hash, and sends it whole to a server that does not know it yet: new, restarted or flushed. */
export async function runScript(
  client: RedisClient,
  { source, sha }: Script,
  names: readonly RedisArgument[],
  args: readonly RedisArgument[],
): Promise<unknown> {
  try {
    return await client.callBuffer('EVALSHA', sha, names.length, ...names, ...args);
  } catch (error) {
    if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
    return await client.callBuffer('EVAL', source, names.length, ...names, ...args);
  }
}
