/** @import { Range } from '../../lab/snapshot.ts' */
import { el } from './dom.js';

/** What a broker remembers of each producer, and so what may be in flight. */
const slotCount = 5;

/**
 * @typedef {object} Slot
 * @property {Range} range
 * @property {string} colour
 * @property {string} state
 * @property {string | null} mark
 * @property {string} title
 */

/**
 * Five places, taken or free.
 * @param {string} label
 * @param {readonly Slot[]} taken
 */
export function slots(label, taken) {
  const free = Math.max(0, slotCount - taken.length);
  return el(
    'ol',
    { class: 'slots', 'aria-label': label },
    ...taken.map(({ range, colour, state, mark, title }) =>
      el(
        'li',
        { class: 'slot', 'data-colour': colour, 'data-state': state, title },
        el('span', {}, range.first),
        range.last === range.first ? null : el('span', { class: 'to' }, `–${range.last}`),
        mark === null ? null : el('span', { class: 'mark-again' }, mark),
      ),
    ),
    ...Array.from({ length: free }, () => el('li', { class: 'slot free', 'aria-hidden': 'true' })),
  );
}
