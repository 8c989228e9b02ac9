/** @import { Snapshot } from '../../lab/snapshot.ts' */
import { showAudit } from './audit.js';
import { forgetLogs, showBrokers } from './brokers.js';
import { showConsumers, showLedger } from './consumer.js';
import { focusControl, showControls } from './controls.js';
import { byId } from './dom.js';
import { lessonPlaceOf, showLesson } from './lesson.js';
import { follow } from './live.js';
import { showProducers } from './producer.js';
import { showTimeline } from './timeline.js';

/** @type {Snapshot | null} */
let liveState = null;

/** @param {Snapshot} state */
function showState({ audit, producers, partitions, brokers, consumers, ledger, timeline }) {
  showAudit(audit);
  showProducers(producers, partitions.length);
  showBrokers(brokers, partitions);
  showConsumers(consumers);
  showLedger(ledger);
  showTimeline(timeline);
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
    await showLesson(place, showState, () => window.location.hash === hash);
    if (!wasLesson) byId('lesson').focus({ preventScroll: true });
    return;
  }
  if (wasLesson) {
    delete document.body.dataset.spotlight;
    forgetLogs();
    if (liveState !== null) showState(liveState);
  }
  const action = /^#live\/([a-z-]+)$/.exec(hash)?.[1];
  if (action !== undefined) focusControl(action);
}

window.addEventListener('hashchange', () => void route());
document.addEventListener('keydown', (event) => {
  if (!isLesson() || event.altKey || event.ctrlKey || event.metaKey) return;
  if (event.key === 'ArrowRight') document.getElementById('lesson-next')?.click();
  else if (event.key === 'ArrowLeft') document.getElementById('lesson-back')?.click();
  else if (event.key === ' ' && document.activeElement?.getAttribute('role') === 'button') {
    event.preventDefault();
    /** @type {HTMLElement} */ (document.activeElement).click();
  }
});

follow((state) => {
  liveState = state;
  showControls(state.controls);
  if (!isLesson()) showState(state);
});
void route();
