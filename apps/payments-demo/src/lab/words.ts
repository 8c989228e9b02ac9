import type { BatchNumbers } from '../system/events.ts';
import { sequenceOf } from './producer-book.ts';
import type { Range } from './snapshot.ts';

export function rangeText({ first, last }: Range): string {
  return first === last ? `${first}` : `${first}–${last}`;
}

/** `4–5 of partition 0`; epoch 0 goes without saying. */
export function batchName(batch: Pick<BatchNumbers, 'baseSequence' | 'recordCount' | 'epoch' | 'partition'>): string {
  const epoch = batch.epoch > 0 ? `, epoch ${batch.epoch},` : '';
  return `${rangeText(sequenceOf(batch))}${epoch} of partition ${batch.partition}`;
}

export function offsetsText(baseOffset: number | bigint, recordCount: number): string {
  const first = Number(baseOffset);
  return rangeText({ first, last: first + recordCount - 1 });
}

export function count(amount: number, one: string, many = `${one}s`): string {
  return `${amount.toLocaleString('en-US')} ${amount === 1 ? one : many}`;
}
