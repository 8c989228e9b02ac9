/** @import { Snapshot } from '../../lab/snapshot.ts' */
import { showAudit } from './audit.js';
import { forgetLogs, showBrokers } from './brokers.js';
import { showConsumers, showLedger } from './consumer.js';
import { focusControl, showControls } from './controls.js';
import { byId } from './dom.js';
import { isUnanswered, showLesson } from './lesson.js';
import { lessonPlaceOf, move } from './lesson-place.js';
import { follow } from './live.js';
import { showProducers } from './producer.js';
import { measure } from './stick.js';
import { showTimeline } from './timeline.js';
import { showTrial } from './try-live.js';

const shownText = {
  example: 'Shown: the worked example, played anew for this moment.',
  live: 'Shown: the live system, with its own numbers.',
};

/** @type {Snapshot | null} */
let liveState = null;
/** What the panels show: the state of the running system, or a moment of the lesson. @type {'live' | 'example'} */
let shown = 'live';

/** @param {Snapshot} state */
function showState({ audit, producers, partitions, brokers, consumers, ledger, timeline }) {
  showAudit(audit);
  showProducers(producers, partitions.length);
  showBrokers(brokers, partitions);
  showConsumers(consumers);
  showLedger(ledger);
  showTimeline(timeline);
}

/** @param {'live' | 'example'} what */
function say(what) {
  shown = what;
  const label = byId('shown');
  label.dataset.shown = what;
  if (label.textContent !== shownText[what]) label.textContent = shownText[what];
}

function showLive() {
  if (shown !== 'live') forgetLogs();
  say('live');
  if (liveState !== null) showState(liveState);
}

/**
 * @param {Snapshot} example
 * @param {boolean} isStart Whether what comes has nothing to do with what was shown.
 */
function showExample(example, isStart) {
  if (shown !== 'example' || isStart) forgetLogs();
  say('example');
  showState(example);
}

function isLesson() {
  return document.body.dataset.view === 'lesson';
}

/** Shows the view that the address names. */
async function route() {
  const { hash } = window.location;
  const place = lessonPlaceOf(hash);
  const wasLesson = isLesson();
  document.body.dataset.view = place === null ? 'live' : 'lesson';
  byId('to-live').toggleAttribute('aria-current', false);
  byId('to-lesson').toggleAttribute('aria-current', false);
  byId(place === null ? 'to-live' : 'to-lesson').setAttribute('aria-current', 'page');
  if (place !== null) {
    if (!wasLesson && !place.isLive) {
      // What goes on meanwhile is no part of the example that is on its way.
      forgetLogs();
      say('example');
    }
    const show = (/** @type {Snapshot | null} */ example, /** @type {boolean} */ isStart) =>
      example === null ? showLive() : showExample(example, isStart);
    await showLesson(place, show, () => window.location.hash === hash);
    if (!wasLesson) byId('lesson').focus({ preventScroll: true });
    return;
  }
  if (wasLesson) {
    delete document.body.dataset.spotlight;
    showLive();
  }
  const action = /^#live\/([a-z-]+)$/.exec(hash)?.[1];
  if (action !== undefined) focusControl(action);
}

window.addEventListener('hashchange', () => void route());
document.addEventListener('keydown', (event) => {
  if (!isLesson() || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  if (event.key === 'ArrowRight') move(1);
  else if (event.key === 'ArrowLeft') move(-1);
  else if (event.key === ' ' && document.activeElement?.getAttribute('role') === 'button') {
    event.preventDefault();
    /** @type {HTMLElement} */ (document.activeElement).click();
  }
});

for (const link of document.querySelectorAll('.skip')) {
  link.addEventListener('click', (event) => {
    // The address says what is shown: it stays.
    event.preventDefault();
    byId((link.getAttribute('href') ?? '').slice(1)).focus();
  });
}
for (const id of ['controls', 'lesson']) measure(byId(id));
follow((state) => {
  liveState = state;
  showControls(state.controls);
  showTrial(state);
  if (shown === 'live') showState(state);
  // It answers again: so will the lesson.
  if (isLesson() && isUnanswered()) void route();
});
void route();
