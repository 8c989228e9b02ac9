/** @import { BrokerView, LogBatchView, NotebookView, PartitionView, ReplicaView } from '../../lab/snapshot.ts' */
import { byId, el, fill } from './dom.js';
import { slots } from './slots.js';
import { countText, rangeText, sessionColour } from './words.js';

/** Batches that were there at the last look, so that new ones can be seen coming. */
let known = new Set();

/** What comes next is another run, not news. */
export function forgetLogs() {
  known = new Set();
}

/**
 * @param {readonly BrokerView[]} brokers
 * @param {readonly PartitionView[]} partitions
 */
export function showBrokers(brokers, partitions) {
  fill(byId('brokers-body'), { brokers, partitions }, () => {
    const before = known;
    known = new Set();
    return [
      el('ul', { class: 'brokers', 'aria-label': 'Brokers' }, ...brokers.map(broker)),
      el('div', { class: 'columns' }, ...partitions.map((partition) => column(partition, before))),
    ];
  });
}

/** @param {BrokerView} view */
function broker({ broker: name, state }) {
  const shown = state === 'unknown' ? '' : `: ${state}`;
  return el('li', { class: 'chip', 'data-broker': name, 'data-state': state }, `broker ${name}${shown}`);
}

/**
 * @param {PartitionView} view
 * @param {Set<string>} before
 */
function column(view, before) {
  const { partition, leader, leaderEpoch, replicas, records, batches, notebook, nextOffset } = view;
  return el(
    'div',
    { class: 'column', 'data-partition': partition },
    el(
      'h3',
      {},
      `Partition ${partition} `,
      el(
        'span',
        { class: leader === null ? 'leader none' : 'leader', 'data-leader': partition },
        leader === null ? 'nobody leads' : `${leader} leads`,
      ),
    ),
    el(
      'ol',
      { class: 'log', 'aria-label': `Log of partition ${partition}, the newest batches` },
      ...(batches.length === 0 ? [el('li', { class: 'empty' }, 'The log is empty.')] : []),
      ...batches.map((batch) => logRow(partition, batch, before)),
    ),
    el(
      'p',
      { class: 'log-sum' },
      countText(records, 'record'),
      nextOffset === null ? null : `, next offset ${nextOffset}`,
      leaderEpoch === null || leaderEpoch === 0 ? null : `, leader epoch ${leaderEpoch}`,
    ),
    replicas.length === 0
      ? null
      : el(
          'ul',
          { class: 'replicas', 'aria-label': 'Replicas' },
          ...replicas.map((each) => replica(each, leader, nextOffset)),
        ),
    el('h4', {}, leader === null ? 'Notebook' : `Notebook of broker ${leader}`),
    ...notebookPages(notebook, leader),
  );
}

/**
 * @param {number} partition
 * @param {LogBatchView} batch
 * @param {Set<string>} before
 */
function logRow(partition, { offsets, numbers }, before) {
  const key = `${partition}/${offsets.first}`;
  known.add(key);
  const isNew = before.size > 0 && !before.has(key);
  return el(
    'li',
    {
      class: isNew ? 'batch new' : 'batch',
      'data-colour': sessionColour(numbers?.session ?? 0),
      'data-offset': offsets.first,
    },
    el('span', { class: 'offsets' }, el('span', { class: 'unseen' }, 'offset '), rangeText(offsets)),
    el(
      'span',
      { class: 'numbers' },
      numbers === null
        ? 'no number'
        : el(
            'span',
            {},
            el('span', { class: 'unseen' }, `producer ${numbers.producerId}, `),
            `№ ${rangeText(numbers.sequence)}`,
          ),
      numbers !== null && numbers.epoch > 0 ? el('span', { class: 'epoch' }, `epoch ${numbers.epoch}`) : null,
    ),
  );
}

/**
 * @param {ReplicaView} view
 * @param {string | null} leader
 * @param {number | null} end
 */
function replica({ broker: name, inSync, nextOffset }, leader, end) {
  const behind = end === null || nextOffset === null ? 0 : end - nextOffset;
  const state = name === leader ? 'leader' : inSync ? 'in sync' : 'out of sync';
  const title = behind > 0 ? `${state}, ${countText(behind, 'record')} behind` : state;
  return el(
    'li',
    { class: 'replica', 'data-state': state, title },
    name,
    el('span', { class: 'unseen' }, ` ${state}`),
    behind > 0 ? el('span', { class: 'behind' }, `−${behind}`) : null,
  );
}

/**
 * @param {readonly NotebookView[] | null} notebook
 * @param {string | null} leader
 */
function notebookPages(notebook, leader) {
  if (notebook === null)
    return [el('p', { class: 'empty' }, 'Kept inside the broker. On a real Kafka no client can read it.')];
  if (notebook.length === 0) return [el('p', { class: 'empty' }, 'Nothing is written in it.')];
  return notebook.map(({ producerId, epoch, session, batches }) =>
    el(
      'div',
      { class: 'page' },
      el('p', { class: 'page-of', 'data-colour': sessionColour(session) }, `producer ${producerId}, epoch ${epoch}`),
      slots(
        `What broker ${leader ?? ''} remembers of producer ${producerId}`,
        batches.map(({ sequence, offsets }) => ({
          range: sequence,
          colour: sessionColour(session),
          state: 'remembered',
          mark: null,
          title: `${rangeText(sequence)} is at ${rangeText(offsets)}`,
        })),
      ),
    ),
  );
}
