import { StoreSetupError } from '../errors.ts';
import type { RedisNode } from './client.ts';

/**
 * Refuses servers that may drop keys to make room: their duplicates would pass (R8). `INFO` tells the policy also where a
 * hosting service has disabled `CONFIG`.
 */
export async function refuseEviction(nodes: readonly RedisNode[]): Promise<void> {
  for (const node of nodes) {
    const info = String(await node.call('INFO', 'memory'));
    const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1];
    if (policy === 'noeviction') continue;
    throw new StoreSetupError(
      policy === undefined
        ? "Redis does not tell its maxmemory-policy (INFO memory), so it can't be known whether it drops keys; allow that command, or set allowEviction: true to go on without knowing"
        : `Redis has maxmemory-policy ${policy}: under memory pressure it drops keys, and their duplicates pass. Set the policy to noeviction, or allowEviction: true to accept that`,
    );
  }
}
