import { showValue } from './trace.ts';
import type { World } from './world.ts';

/** Events that say the same as a line of the sessions', or too often. */
const untold = new Set(['request-sent', 'connection-opened', 'connection-closed']);

/** Writes what the cluster does into the trace. */
export function traceCluster({ cluster, trace }: World): void {
  cluster.onEvent(({ type, atMs: _, ...fields }) => {
    if (untold.has(type)) return;
    trace.note('cluster', () => `${type} ${showFields(fields)}`);
  });
}

function showFields(fields: object): string {
  return Object.entries(fields)
    .map(([name, value]) => `${name} ${showValue(value)}`)
    .join(', ');
}
