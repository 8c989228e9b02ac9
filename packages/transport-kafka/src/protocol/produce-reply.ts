import type { BrokerMetadata, PartitionResult, ProduceRequest } from '@sendonce/producer-core/transport';
import { firstFlexibleVersion } from './api-keys.ts';
import { firstVersionWithTopicIds, type TopicGroup } from './produce-request.ts';
import { MalformedReplyError, type WireReader } from './wire-reader.ts';

const first = { logStartOffset: 5, recordErrors: 8, leaderHint: 10 } as const;
const unknownOffset = -1n;
const currentLeaderTag = 0;
const nodeEndpointsTag = 0;

type CurrentLeader = NonNullable<PartitionResult['currentLeader']>;

export interface ProduceReply {
  /** In the request's order. */
  readonly results: PartitionResult[];
  readonly throttleTimeMs: number;
  /** Addresses of the leaders that refused partitions hint at (KIP-951). */
  readonly endpoints: readonly BrokerMetadata[];
}

const noEndpoints: readonly BrokerMetadata[] = [];

/** Reads a produce reply, and checks that it answers every partition of the request once. */
export function decodeProduce(
  reader: WireReader,
  version: number,
  request: ProduceRequest,
  groups: readonly TopicGroup[],
): ProduceReply {
  const isFlexible = version >= firstFlexibleVersion.produce;
  if (isFlexible) reader.tags();
  const results = new Array<PartitionResult>(request.partitions.length);
  let answered = 0;
  const topics = reader.arrayLength(isFlexible);
  for (let i = 0; i < topics; i++) {
    const { positions } = readTopic(reader, version, groups, i, isFlexible);
    const partitions = reader.arrayLength(isFlexible);
    for (let j = 0; j < partitions; j++) {
      const partition = reader.int32();
      const position = positionOf(request, positions, j, partition);
      if (position === -1 || results[position] !== undefined) {
        throw new MalformedReplyError(
          `partition ${partition} was ${position === -1 ? 'not asked for' : 'answered twice'}`,
        );
      }
      results[position] = readPartition(reader, version, request.partitions[position]!.topic, partition, isFlexible);
      answered++;
    }
    if (isFlexible) reader.tags();
  }
  if (answered !== request.partitions.length)
    throw new MalformedReplyError(`${answered} of ${request.partitions.length} partitions are answered`);
  const throttleTimeMs = reader.int32();
  return { results, throttleTimeMs, endpoints: isFlexible ? readEndpoints(reader) : noEndpoints };
}

/** Brokers answer in the request's order; the loop is for one that does not. */
function readTopic(
  reader: WireReader,
  version: number,
  groups: readonly TopicGroup[],
  expected: number,
  isFlexible: boolean,
): TopicGroup {
  const isNext = ({ topic, id }: TopicGroup) =>
    version >= firstVersionWithTopicIds
      ? id !== undefined && reader.skipIfUuid(id)
      : reader.skipIfString(topic.utf8, isFlexible);
  const likely = groups[expected];
  if (likely && isNext(likely)) return likely;
  for (const group of groups) {
    if (isNext(group)) return group;
  }
  throw new MalformedReplyError('a topic is answered that was not asked for');
}

function positionOf(
  request: ProduceRequest,
  positions: readonly number[],
  expected: number,
  partition: number,
): number {
  const likely = positions[expected];
  if (likely !== undefined && request.partitions[likely]!.partition === partition) return likely;
  for (const position of positions) {
    if (request.partitions[position]!.partition === partition) return position;
  }
  return -1;
}

function readPartition(
  reader: WireReader,
  version: number,
  topic: string,
  partition: number,
  isFlexible: boolean,
): PartitionResult {
  const errorCode = reader.int16();
  const baseOffset = reader.int64();
  const logAppendTimeMs = reader.int64AsNumber();
  const logStartOffset = version >= first.logStartOffset ? reader.int64() : unknownOffset;
  let errorMessage: string | undefined;
  if (version >= first.recordErrors) {
    const firstRecordError = readRecordErrors(reader, isFlexible);
    errorMessage = reader.nullableString(isFlexible) ?? firstRecordError;
  }
  const currentLeader = isFlexible ? readLeaderHint(reader, version) : undefined;
  if (errorCode === 0) return { topic, partition, errorCode, baseOffset, logAppendTimeMs, logStartOffset };
  return {
    topic,
    partition,
    errorCode,
    baseOffset,
    logAppendTimeMs,
    logStartOffset,
    ...(errorMessage === undefined ? {} : { errorMessage }),
    ...(currentLeader === undefined ? {} : { currentLeader }),
  };
}

/** The first message about a single record, if there is one. */
function readRecordErrors(reader: WireReader, isFlexible: boolean): string | undefined {
  const count = reader.arrayLength(isFlexible);
  let message: string | undefined;
  for (let i = 0; i < count; i++) {
    reader.int32(); // the record's index
    const text = reader.nullableString(isFlexible);
    message ??= text;
    if (isFlexible) reader.tags();
  }
  return message;
}

function readLeaderHint(reader: WireReader, version: number): CurrentLeader | undefined {
  let leader: CurrentLeader | undefined;
  reader.tags((tag) => {
    if (tag === currentLeaderTag && version >= first.leaderHint)
      leader = { brokerId: reader.int32(), leaderEpoch: reader.int32() };
  });
  return leader && leader.brokerId >= 0 ? leader : undefined;
}

function readEndpoints(reader: WireReader): readonly BrokerMetadata[] {
  let endpoints: BrokerMetadata[] | undefined;
  reader.tags((tag) => {
    if (tag !== nodeEndpointsTag) return;
    endpoints = [];
    const count = reader.arrayLength(true);
    for (let i = 0; i < count; i++) {
      endpoints.push({ brokerId: reader.int32(), host: reader.string(true), port: reader.int32() });
      reader.nullableString(true); // rack
      reader.tags();
    }
  });
  return endpoints ?? noEndpoints;
}
