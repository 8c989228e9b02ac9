import type { Connection } from './connection.ts';

/**
 * What a link is doing.
 *
 * - `idle`: no connection; the next call opens one.
 * - `opening`: calls wait.
 * - `ready`: calls are sent.
 * - `renewing`: calls are sent, while a fresh connection is opened before the session of this one ends.
 * - `doubting`: calls are sent, while another connection is opened to learn whether this one is dead or its broker slow.
 * - `draining`: the fresh connection is there; calls wait until the old one's replies are in, so that none overtakes another (T3).
 * - `closed`: for good.
 */
export type LinkState =
  | { readonly name: 'idle' }
  | { readonly name: 'opening' }
  | { readonly name: 'ready'; readonly connection: Connection }
  | { readonly name: 'renewing'; readonly connection: Connection }
  | { readonly name: 'doubting'; readonly connection: Connection }
  | { readonly name: 'draining'; readonly connection: Connection; readonly fresh: Connection }
  | { readonly name: 'closed' };

const allowed: Readonly<Record<LinkState['name'], readonly LinkState['name'][]>> = {
  idle: ['opening', 'closed'],
  opening: ['ready', 'idle', 'closed'],
  ready: ['renewing', 'doubting', 'idle', 'closed'],
  renewing: ['draining', 'ready', 'opening', 'closed'],
  doubting: ['ready', 'opening', 'closed'],
  draining: ['ready', 'closed'],
  closed: [],
};

/** Throws when a link can't go from one state to the other. */
export function assertTransition(from: LinkState, to: LinkState): void {
  if (!allowed[from.name].includes(to.name)) throw new Error(`A link can't go from ${from.name} to ${to.name}.`);
}
