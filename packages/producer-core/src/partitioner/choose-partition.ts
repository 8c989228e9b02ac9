import type { TopicState } from '../accumulator/topic-state.ts';
import { ConfigError } from '../errors.ts';
import type { Partitioner, ResolvedOptions } from '../options.ts';
import { kindOf, type ProducerRecord, type RecordBytes } from '../record.ts';
import { partitionForKey } from './murmur2.ts';

/** Where a record goes: its own partition, the application's choice, its key's, or the sticky one. The topic's partitions are known. */
export function choosePartition(
  topic: TopicState,
  record: ProducerRecord,
  partitioner: ResolvedOptions['partitioner'],
): number {
  if (record.partition !== undefined) return record.partition;
  const { partitions } = topic;
  if (partitioner !== undefined) {
    const partition = ask(partitioner, record, topic);
    if (!Number.isInteger(partition) || (partition as number) < 0 || (partition as number) >= partitions.length) {
      throw new ConfigError(
        `Option partitioner returned ${typeof partition === 'number' ? partition : kindOf(partition)} for topic ${topic.topic}; it must return a whole number from 0 to ${partitions.length - 1}.`,
        ['partitioner'],
      );
    }
    return partition as number;
  }
  const { key } = record;
  if (key !== undefined && key !== null) return partitionForKey(key, partitions.length);
  if (partitions.length === 1) return 0;
  return topic.sticky.choose(partitions, approximateBytes(record));
}

function ask(partitioner: Partitioner, record: ProducerRecord, { topic, partitions }: TopicState): unknown {
  try {
    return partitioner(record, partitions.length);
  } catch (cause) {
    throw new ConfigError(
      `Option partitioner threw for a record of topic ${topic}. Nothing of the record was kept.`,
      ['partitioner'],
      { cause },
    );
  }
}

function approximateBytes({ value, headers }: ProducerRecord): number {
  return (lengthOf(value) ?? 0) + (headers === undefined ? 10 : 40);
}

function lengthOf(bytes: RecordBytes): number | undefined {
  return bytes?.length;
}
