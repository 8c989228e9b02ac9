/** @import { Snapshot } from '../../lab/snapshot.ts' */
import { byId } from './dom.js';

/**
 * Follows the live system. The browser connects again by itself, and the first message after that is the whole state.
 * @param {(snapshot: Snapshot) => void} onState
 */
export function follow(onState) {
  const source = new EventSource('/events');
  source.addEventListener('open', () => setConnection('live'));
  source.addEventListener('message', ({ data }) => onState(JSON.parse(data)));
  source.addEventListener('error', () => {
    setConnection('connecting');
    // Refused, not cut off: the browser does not try again by itself.
    if (source.readyState === EventSource.CLOSED) setTimeout(() => follow(onState), 2_000);
  });
}

/** @param {'live' | 'connecting'} state */
function setConnection(state) {
  const connection = byId('connection');
  connection.dataset.state = state;
  connection.textContent = state === 'live' ? 'live' : 'connecting';
}
