/** @import { ConsumerView, LedgerView } from '../../lab/snapshot.ts' */
import { byId, el, fill } from './dom.js';
import { moneyText, numberText } from './words.js';

const stateTexts = { running: 'running', crashed: 'crashed', waiting: 'waits for its database' };
const statusTexts = {
  processed: 'applied',
  duplicate: 'known, passed over',
  conflict: 'same key, other payment',
  'in-progress': 'in progress',
  failed: 'failed, comes again',
};

/** @param {readonly ConsumerView[]} consumers */
export function showConsumers(consumers) {
  fill(byId('consumer-body'), consumers, () =>
    consumers.length === 0 ? [el('p', { class: 'empty' }, 'No consumer has read anything.')] : consumers.map(consumer),
  );
}

/** @param {ConsumerView} view */
function consumer({ name, state, partitions, processed, duplicates, conflicts, recent }) {
  return el(
    'div',
    { class: 'consumer', 'data-consumer': name },
    el('h3', {}, name, ' ', el('span', { class: 'chip', 'data-state': state }, stateTexts[state])),
    el(
      'ul',
      { class: 'offsets-read', 'aria-label': 'Next offset to read' },
      ...partitions.map(({ partition, nextOffset, behind }) =>
        el(
          'li',
          {},
          `p${partition} `,
          el('b', {}, nextOffset),
          behind > 0 ? el('span', { class: 'behind' }, ` ${numberText(behind)} to read`) : null,
        ),
      ),
    ),
    el(
      'dl',
      { class: 'facts' },
      el('div', {}, el('dt', {}, 'processed'), el('dd', {}, numberText(processed))),
      el('div', {}, el('dt', {}, 'known'), el('dd', {}, numberText(duplicates))),
      conflicts === 0 ? null : el('div', {}, el('dt', {}, 'conflicts'), el('dd', {}, numberText(conflicts))),
    ),
    name === 'ledger'
      ? el(
          'ol',
          { class: 'outcomes', 'aria-label': 'The last records' },
          ...recent.map(({ partition, offset, status }) =>
            el('li', { 'data-status': status }, `p${partition} @${offset} `, el('span', {}, statusTexts[status])),
          ),
        )
      : null,
  );
}

/** @param {LedgerView} ledger */
export function showLedger(ledger) {
  fill(byId('ledger-body'), ledger, ({ payments, entries, sumMinor, movedMinor, accounts }) => [
    el(
      'dl',
      { class: 'facts' },
      el('div', {}, el('dt', {}, 'payments'), el('dd', { id: 'ledger-payments' }, numberText(payments))),
      el('div', {}, el('dt', {}, 'entries'), el('dd', {}, numberText(entries))),
      el('div', {}, el('dt', {}, 'moved'), el('dd', {}, moneyText(movedMinor))),
    ),
    el(
      'p',
      { class: 'sum', 'data-zero': sumMinor === 0 },
      'Sum of all entries: ',
      el('b', { id: 'ledger-sum' }, moneyText(sumMinor)),
    ),
    accounts.length === 0
      ? null
      : el(
          'table',
          { class: 'accounts' },
          el('caption', { class: 'unseen' }, 'Accounts that moved most'),
          el(
            'thead',
            { class: 'unseen' },
            el('tr', {}, el('th', { scope: 'col' }, 'account'), el('th', { scope: 'col' }, 'balance')),
          ),
          el(
            'tbody',
            {},
            ...accounts.map(({ account, balanceMinor }) =>
              el('tr', {}, el('th', { scope: 'row' }, account), el('td', {}, moneyText(balanceMinor))),
            ),
          ),
        ),
  ]);
}
