import type { ClusterEvent, MemoryCluster } from '@sendonce/transport-memory';
import type { Narration } from '../narration/narration.ts';
import type { Table } from '../narration/script.ts';
import { topic } from './payments.ts';

/** The tutorial's brokers have letters. */
export function brokerName(brokerId: number): string {
  return String.fromCharCode('A'.charCodeAt(0) + brokerId - 1);
}

const range = (first: number, last: number) => (first === last ? `${first}` : `${first}–${last}`);

/** The batch headers of a partition's log. */
export function logTable(cluster: MemoryCluster, partition: number): Table {
  return {
    title: `Log of partition ${partition}: batch headers`,
    columns: ['offsets', 'records', 'producer id', 'epoch', 'sequence'],
    rows: cluster
      .dump(topic, partition)
      .map(({ baseOffset, lastOffset, count, producerId, producerEpoch, baseSequence, lastSequence }) => [
        range(baseOffset, lastOffset),
        count,
        ...(producerId < 0n ? ['none', '–', '–'] : [producerId, producerEpoch, range(baseSequence, lastSequence)]),
      ]),
  };
}

/** What the partition's leader remembers of its producers. */
export function notebookTable(cluster: MemoryCluster, partition: number): Table {
  const handle = cluster.partition(topic, partition);
  return {
    title: `Notebook of broker ${brokerName(handle.leader)}, leader of partition ${partition}`,
    columns: ['producer id', 'epoch', 'last batches: sequence → offsets'],
    rows: handle
      .producerState()
      .map(({ producerId, epoch, batches }) => [
        producerId,
        epoch,
        batches
          .map(
            ({ baseSequence, lastSequence, baseOffset, lastOffset }) =>
              `${range(baseSequence, lastSequence)} → ${range(baseOffset, lastOffset)}`,
          )
          .join(', '),
      ]),
  };
}

/** From now on the reader is told what happens in the cluster, and in which partition where it has more than one. */
export function narrate(narration: Narration, cluster: MemoryCluster, partitions = 1): void {
  cluster.onEvent((event) => {
    const sentence = sentenceFor(event);
    const place = partitions > 1 && 'partition' in event ? `partition ${event.partition}: ` : '';
    if (sentence !== null) narration.event(place + sentence);
  });
}

/** `null`: of no interest to a reader. */
function sentenceFor(event: ClusterEvent): string | null {
  switch (event.type) {
    case 'batch-stored':
      return `broker ${brokerName(event.brokerId)} stores ${numbersOf(event)} at offset ${range(event.baseOffset, event.baseOffset + event.recordCount - 1)}`;
    case 'batch-recognised':
      return `broker ${brokerName(event.brokerId)} recognises ${numbersOf(event)}: stored already, at offset ${event.baseOffset}`;
    case 'batch-refused':
      return `broker ${brokerName(event.brokerId)} refuses ${numbersOf(event)}: ${event.reason}`;
    case 'reply-lost':
      return `the reply of broker ${brokerName(event.brokerId)} is lost`;
    case 'request-lost':
      return `a request to broker ${brokerName(event.brokerId)} is lost on its way`;
    case 'request-timed-out':
      return 'no answer in time: the connection is dropped';
    case 'broker-killed':
      return `broker ${brokerName(event.brokerId)} dies`;
    case 'leader-elected':
      return `broker ${brokerName(event.leader)} leads partition ${event.partition} now`;
    case 'producer-forgotten':
      return `broker ${brokerName(event.brokerId)} forgets producer ${event.producerId}`;
    default:
      return null;
  }
}

interface BatchNumbers {
  readonly baseSequence: number;
  readonly recordCount: number;
  readonly producerEpoch: number;
}

function numbersOf({ baseSequence, recordCount, producerEpoch }: BatchNumbers): string {
  if (baseSequence < 0) return `${recordCount} records without numbers`;
  const epoch = producerEpoch === 0 ? '' : ` of epoch ${producerEpoch}`;
  return `${range(baseSequence, baseSequence + recordCount - 1)}${epoch}`;
}
