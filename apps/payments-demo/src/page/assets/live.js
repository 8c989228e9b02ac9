/** @import { Snapshot } from '../../lab/snapshot.ts' */
import { byId } from './dom.js';

const refusedRetryMs = 2_000;

/**
 * Follows the live system while the page is looked at. The browser connects again by itself, and the first message after that is the
 * whole state. A page in the background lets go: a browser has six connections to a server, for all its tabs together.
 * @param {(snapshot: Snapshot) => void} onState
 */
export function follow(onState) {
  /** @type {EventSource | null} */
  let source = null;
  const start = () => {
    if (document.hidden || source !== null) return;
    const started = new EventSource('/events');
    source = started;
    started.addEventListener('open', () => setConnection('live'));
    started.addEventListener('message', ({ data }) => onState(JSON.parse(data)));
    started.addEventListener('error', () => {
      setConnection('connecting');
      if (started.readyState !== EventSource.CLOSED) return;
      // Refused, not cut off: the browser does not try again by itself.
      if (source === started) source = null;
      setTimeout(start, refusedRetryMs);
    });
  };
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) {
      start();
      return;
    }
    source?.close();
    source = null;
    setConnection('connecting');
  });
  start();
}

/** @param {'live' | 'connecting'} state */
function setConnection(state) {
  const connection = byId('connection');
  connection.dataset.state = state;
  connection.textContent = state;
}
