/** @import { TimelineEntry } from '../../lab/snapshot.ts' */
import { byId, el, fill } from './dom.js';

let announced = '';

/** @param {readonly TimelineEntry[]} entries */
export function showTimeline(entries) {
  fill(byId('timeline'), entries, () => {
    if (entries.length === 0) return [el('li', { class: 'empty' }, 'Nothing yet. Send a payment.')];
    return entries
      .toReversed()
      .map(({ id, tone, parts }) =>
        el(
          'li',
          { class: 'story', 'data-tone': tone, 'data-story': id },
          el('ol', {}, ...parts.map((part) => el('li', {}, part))),
        ),
      );
  });
  announce(entries);
}

/**
 * Tells a screen reader of the newest part of what is not routine, and once.
 * @param {readonly TimelineEntry[]} entries
 */
function announce(entries) {
  const story = entries.findLast(({ tone }) => tone !== 'calm');
  const text = story === undefined ? '' : `${story.parts[0]}: ${story.parts.at(-1)}`;
  if (text === announced) return;
  announced = text;
  byId('announcer').textContent = text;
}
