/** @import { AuditView } from '../../lab/snapshot.ts' */
import { byId, el, fill } from './dom.js';
import { numberText } from './words.js';

/** @param {AuditView} audit */
export function showAudit(audit) {
  fill(byId('tiles'), audit, (shown) => [
    tile('accepted', 'Accepted', shown.accepted, unknownText(shown)),
    tile('stored', 'In the log', shown.stored, 'records that brokers stored'),
    tile(
      'caught-by-broker',
      'Caught by the broker',
      shown.caughtByBroker,
      shown.caughtByBroker === null ? 'only the brokers know' : 'came again, known by their numbers',
    ),
    tile('caught-by-key', 'Caught by the key', shown.caughtByKey, readAgainText(shown)),
    tile('applied', 'Applied', shown.applied, 'payments in the ledger'),
  ]);
  const verdict = byId('verdict');
  verdict.dataset.verdict = audit.verdict;
  // Set only when it is another text: each setting would be read out.
  if (verdict.textContent !== audit.verdictText) verdict.textContent = audit.verdictText;
}

/**
 * @param {string} name
 * @param {string} label
 * @param {number | null} value
 * @param {string} note
 */
function tile(name, label, value, note) {
  return el(
    'div',
    { class: 'tile', 'data-tile': name },
    el('dt', {}, label),
    el('dd', { class: 'value' }, value === null ? '?' : numberText(value)),
    el('dd', { class: 'note' }, note),
  );
}

/** @param {AuditView} audit */
function unknownText({ unknown }) {
  return unknown === 0 ? 'senders told “stored”' : `and ${numberText(unknown)} told “unknown”`;
}

/** @param {AuditView} audit */
function readAgainText({ readAgain }) {
  return readAgain === 0 ? 'stored again, not applied again' : `and ${numberText(readAgain)} read again, not applied`;
}
