/** @import { ProducerView, ProducerPartitionView, WindowBatchView } from '../../lab/snapshot.ts' */
import { byId, el, fill } from './dom.js';
import { slots } from './slots.js';
import { rangeText, sessionColour } from './words.js';

/**
 * @param {readonly ProducerView[]} producers
 * @param {number} partitions
 */
export function showProducers(producers, partitions) {
  fill(byId('producer-body'), { producers, partitions }, () => {
    const running = producers.filter(({ state }) => state === 'running');
    const current = running.at(-1) ?? producers.at(-1);
    if (current === undefined) return [el('p', { class: 'empty' }, 'No producer has started.')];
    const earlier = producers.filter((producer) => producer !== current);
    return [
      el(
        'p',
        { class: 'identity' },
        badge(current),
        current.state === 'closed' ? el('span', { class: 'chip bad' }, 'stopped') : null,
        ...earlier.map((producer) => el('span', { class: 'earlier' }, 'before: ', badge(producer))),
      ),
      el(
        'div',
        { class: 'columns' },
        ...Array.from({ length: partitions }, (_, partition) =>
          column(
            partition,
            current,
            current.partitions.find((each) => each.partition === partition),
          ),
        ),
      ),
    ];
  });
}

/** @param {ProducerView} producer */
function badge({ producerId, session }) {
  return el('span', { class: 'badge', 'data-colour': sessionColour(session) }, `producer id ${producerId}`);
}

/**
 * @param {number} partition
 * @param {ProducerView} producer
 * @param {ProducerPartitionView | undefined} numbers
 */
function column(partition, { session }, numbers) {
  const window = numbers?.window ?? [];
  return el(
    'div',
    { class: 'column', 'data-partition': partition },
    el('h3', {}, `To partition ${partition}`),
    el(
      'dl',
      { class: 'facts' },
      el('div', {}, el('dt', {}, 'next number'), el('dd', { 'data-next': partition }, numbers?.nextSequence ?? 0)),
      el('div', {}, el('dt', {}, 'epoch'), el('dd', { 'data-epoch': partition }, numbers?.epoch ?? 0)),
      el('div', {}, el('dt', {}, 'in flight'), el('dd', { 'data-in-flight': partition }, `${window.length} of 5`)),
    ),
    slots(
      `Batches in flight to partition ${partition}`,
      window.map((batch) => ({
        range: batch.sequence,
        colour: sessionColour(session),
        state: batch.state,
        mark: batch.attempt > 1 ? `×${batch.attempt}` : null,
        title: windowTitle(batch),
      })),
    ),
  );
}

/** @param {WindowBatchView} batch */
function windowTitle({ sequence, attempt, state }) {
  const doing = state === 'in-flight' ? 'is on its way' : 'waits to be sent again';
  return `${rangeText(sequence)} ${doing}${attempt > 1 ? `, attempt ${attempt}` : ''}`;
}
