/** @import { LessonLive } from '../../lab/lesson/lesson-frame.ts' */
/** @import { Snapshot, TimelineEntry } from '../../lab/snapshot.ts' */
import { controlButton } from './control-button.js';
import { el, fill } from './dom.js';

/** Stories of one press that are shown. */
const storiesShown = 4;

/** @type {Snapshot | null} */
let liveState = null;

/**
 * The buttons of an idea, and what came of them.
 * @typedef {object} Trial
 * @property {HTMLElement} panel
 * @property {(state: Snapshot) => void} update
 */

/** @type {Trial | null} */
let current = null;
/** @type {LessonLive | null} */
let currentOf = null;

/**
 * The live system's buttons for an idea. Pressed, they do there what they do in the live view, and the page shows the live system beside
 * the lesson. They stay the same elements for as long as the idea does, so that the keyboard's place and the story are kept.
 * @param {LessonLive} live
 * @param {string} liveHash Where the live system is shown beside this moment.
 */
export function tryLive(live, liveHash) {
  if (current === null || currentOf !== live) {
    current = trial(live, liveHash);
    currentOf = live;
    if (liveState !== null) current.update(liveState);
  }
  return current.panel;
}

/** @param {Snapshot} state */
export function showTrial(state) {
  liveState = state;
  current?.update(state);
}

/**
 * @param {LessonLive} live
 * @param {string} liveHash
 * @returns {Trial}
 */
function trial({ actions, watch }, liveHash) {
  /** The stories as they were when something was pressed last: what came of it is new, or has grown. @type {Map<number, string> | null} */
  let before = null;
  const refusal = el('p', { class: 'refusal', role: 'alert' });
  const stories = el('ol', { class: 'tried', 'aria-label': 'What came of it' });
  const buttons = actions.map((action) =>
    controlButton('try', action, refusal, () => {
      before = new Map(liveState?.timeline.map(({ id, parts }) => [id, parts.join()]));
      window.location.hash = liveHash;
    }),
  );
  const panel = el(
    'section',
    { class: 'trial', 'aria-labelledby': 'trial-title' },
    el('h3', { id: 'trial-title' }, 'Do it on the live system'),
    ...buttons.map(({ element }) => element),
    refusal,
    el('p', { class: 'watch' }, watch),
    stories,
  );
  return {
    panel,
    update({ controls, timeline }) {
      for (const button of buttons) {
        const view = controls.find(({ action }) => action === button.action);
        if (view !== undefined) button.show(view);
      }
      if (before !== null) fill(stories, storiesSince(timeline, before), (shown) => shown.map(story));
    },
  };
}

/**
 * The newest stories, in the order in which they began. What is said beside them goes first when they are too many.
 * @param {readonly TimelineEntry[]} timeline
 * @param {ReadonlyMap<number, string>} before
 */
function storiesSince(timeline, before) {
  const news = timeline.filter(({ id, parts }) => parts.join() !== before.get(id));
  const isNote = (/** @type {TimelineEntry} */ { tone }) => tone === 'note';
  return [...news.filter(isNote), ...news.filter((entry) => !isNote(entry))]
    .slice(-storiesShown)
    .sort((one, other) => one.id - other.id);
}

/** @param {TimelineEntry} entry */
function story({ tone, parts }) {
  return el('li', { class: 'story', 'data-tone': tone }, el('ol', {}, ...parts.map((part) => el('li', {}, part))));
}
