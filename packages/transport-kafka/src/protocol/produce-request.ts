import type { Acks, ProduceRequest } from '@sendonce/producer-core/transport';
import { apiKeys, firstFlexibleVersion } from './api-keys.ts';
import { headerBytes, writeHeader } from './request-header.ts';
import type { TopicNames, WireTopic } from './topic-names.ts';
import { unsignedVarintBytes, type WireWriter } from './wire-writer.ts';

export const firstVersionWithTopicIds = 13;

const acksOnTheWire: Readonly<Record<Acks, number>> = { all: -1, leader: 1, none: 0 };

/** Partitions of one topic, as positions in the request. */
export interface TopicGroup {
  readonly topic: WireTopic;
  /** The id of the topic that the batches are for: not always the one that has the name by now. */
  readonly id: Uint8Array | undefined;
  readonly positions: readonly number[];
}

const onlyPosition: readonly number[] = [0];

/** The wire has partitions by topic; the groups are in the order in which topics first appear. */
export function groupByTopic({ partitions }: ProduceRequest, names: TopicNames): readonly TopicGroup[] {
  const [first] = partitions;
  if (first && partitions.length === 1) {
    const topic = names.of(first.topic);
    return [{ topic, id: names.idOf(topic, first.topicId), positions: onlyPosition }];
  }
  const groups = new Map<string, { topic: WireTopic; id: Uint8Array | undefined; positions: number[] }>();
  partitions.forEach(({ topic: name, topicId }, position) => {
    const group = groups.get(name);
    if (group) {
      group.positions.push(position);
    } else {
      const topic = names.of(name);
      groups.set(name, { topic, id: names.idOf(topic, topicId), positions: [position] });
    }
  });
  return [...groups.values()];
}

/** Topic ids are spoken only when all of them are known. */
export function produceVersion(agreed: number, groups: readonly TopicGroup[]): number {
  if (agreed < firstVersionWithTopicIds) return agreed;
  for (const { id } of groups) {
    if (id === undefined) return firstVersionWithTopicIds - 1;
  }
  return agreed;
}

export interface EncodeProduce {
  readonly version: number;
  readonly correlationId: number;
  readonly clientId: Uint8Array;
  readonly request: ProduceRequest;
  readonly groups: readonly TopicGroup[];
}

/**
 * Appends the request to `pieces`: what we write ourselves, and between it the batches as they are, neither copied nor joined.
 */
export function encodeProduce(writer: WireWriter, encode: EncodeProduce, pieces: Uint8Array[]): void {
  const { version, correlationId, clientId, request, groups } = encode;
  const isFlexible = version >= firstFlexibleVersion.produce;
  const { ownBytes, batchBytes } = measure(encode, isFlexible);
  writer.reserve(ownBytes);
  writeHeader(writer, {
    frameBytes: ownBytes + batchBytes,
    apiKey: apiKeys.produce,
    version,
    correlationId,
    clientId,
    isFlexible,
  });
  writer.nullString(isFlexible); // no transactional id
  writer.int16(acksOnTheWire[request.acks]);
  writer.int32(request.timeoutMs);
  writer.arrayLength(groups.length, isFlexible);
  for (const { topic, id, positions } of groups) {
    if (version >= firstVersionWithTopicIds && id) writer.bytes(id);
    else writer.string(topic.utf8, isFlexible);
    writer.arrayLength(positions.length, isFlexible);
    for (const position of positions) {
      const { partition, batch } = request.partitions[position]!;
      writer.int32(partition);
      writer.arrayLength(batch.length, isFlexible);
      pieces.push(writer.take(), batch);
      writer.noTags(isFlexible);
    }
    writer.noTags(isFlexible);
  }
  writer.noTags(isFlexible);
  const tail = writer.take();
  if (tail.length > 0) pieces.push(tail);
}

function measure(
  { version, clientId, request, groups }: EncodeProduce,
  isFlexible: boolean,
): { ownBytes: number; batchBytes: number } {
  const lengthBytes = (length: number, plain: number) => (isFlexible ? unsignedVarintBytes(length + 1) : plain);
  const tagBytes = isFlexible ? 1 : 0;
  let ownBytes =
    headerBytes(clientId, isFlexible) + (isFlexible ? 1 : 2) + 2 + 4 + lengthBytes(groups.length, 4) + tagBytes;
  let batchBytes = 0;
  for (const { topic, positions } of groups) {
    ownBytes += version >= firstVersionWithTopicIds ? 16 : lengthBytes(topic.utf8.length, 2) + topic.utf8.length;
    ownBytes += lengthBytes(positions.length, 4) + tagBytes;
    for (const position of positions) {
      const { length } = request.partitions[position]!.batch;
      ownBytes += 4 + lengthBytes(length, 4) + tagBytes;
      batchBytes += length;
    }
  }
  return { ownBytes, batchBytes };
}
