import type {
  BrokerMetadata,
  ClusterMetadata,
  PartitionMetadata,
  TopicMetadata,
} from '@sendonce/producer-core/transport';
import { apiKeys, firstFlexibleVersion } from './api-keys.ts';
import { headerBytes, writeHeader } from './request-header.ts';
import type { WireReader } from './wire-reader.ts';
import { unsignedVarintBytes, type WireWriter } from './wire-writer.ts';

const first = { leaderEpoch: 7, offlineReplicas: 5, authorizedOperations: 8, topicId: 10, errorCode: 13 } as const;
/** Versions 8 to 10 also carry the cluster's authorized operations. */
const lastWithClusterOperations = 10;
const noTopicId = 'AAAAAAAAAAAAAAAAAAAAAA';

const isFlexibleVersion = (version: number) => version >= firstFlexibleVersion.metadata;
const hasClusterOperations = (version: number) =>
  version >= first.authorizedOperations && version <= lastWithClusterOperations;

export interface MetadataRequest {
  /** None means: the brokers only. */
  readonly topics: readonly string[];
  readonly allowAutoTopicCreation: boolean;
}

export function encodeMetadata(
  writer: WireWriter,
  version: number,
  correlationId: number,
  clientId: Uint8Array,
  { topics, allowAutoTopicCreation }: MetadataRequest,
): Buffer {
  const isFlexible = isFlexibleVersion(version);
  const hasTopicId = version >= first.topicId;
  const names = topics.map((topic) => Buffer.from(topic));
  let frameBytes = headerBytes(clientId, isFlexible) + (isFlexible ? unsignedVarintBytes(names.length + 1) : 4);
  for (const name of names) {
    frameBytes += (hasTopicId ? 16 : 0) + (isFlexible ? unsignedVarintBytes(name.length + 1) + 1 : 2) + name.length;
  }
  frameBytes +=
    1 +
    (hasClusterOperations(version) ? 1 : 0) +
    (version >= first.authorizedOperations ? 1 : 0) +
    (isFlexible ? 1 : 0);
  writer.reserve(frameBytes);
  writeHeader(writer, { frameBytes, apiKey: apiKeys.metadata, version, correlationId, clientId, isFlexible });
  writer.arrayLength(names.length, isFlexible);
  for (const name of names) {
    if (hasTopicId) {
      writer.int64(0n);
      writer.int64(0n);
    }
    writer.string(name, isFlexible);
    writer.noTags(isFlexible);
  }
  writer.int8(allowAutoTopicCreation ? 1 : 0);
  if (hasClusterOperations(version)) writer.int8(0);
  if (version >= first.authorizedOperations) writer.int8(0);
  writer.noTags(isFlexible);
  return writer.take();
}

export interface MetadataReply extends ClusterMetadata {
  readonly throttleTimeMs: number;
  /** Of the whole request (from version 13 on): e.g. 129, the client should start again from its bootstrap list (KIP-1102). */
  readonly errorCode: number;
}

export function decodeMetadata(reader: WireReader, version: number): MetadataReply {
  const isFlexible = isFlexibleVersion(version);
  if (isFlexible) reader.tags();
  const throttleTimeMs = reader.int32();
  const brokers = decodeBrokers(reader, isFlexible);
  reader.nullableString(isFlexible); // cluster id
  reader.int32(); // controller
  const topics: TopicMetadata[] = [];
  const count = reader.arrayLength(isFlexible);
  for (let i = 0; i < count; i++) {
    const topic = decodeTopic(reader, version, isFlexible);
    if (topic) topics.push(topic);
  }
  if (hasClusterOperations(version)) reader.int32();
  const errorCode = version >= first.errorCode ? reader.int16() : 0;
  return { throttleTimeMs, errorCode, brokers, topics };
}

function decodeBrokers(reader: WireReader, isFlexible: boolean): BrokerMetadata[] {
  const brokers: BrokerMetadata[] = [];
  const count = reader.arrayLength(isFlexible);
  for (let i = 0; i < count; i++) {
    brokers.push({ brokerId: reader.int32(), host: reader.string(isFlexible), port: reader.int32() });
    reader.nullableString(isFlexible); // rack
    if (isFlexible) reader.tags();
  }
  return brokers;
}

function decodeTopic(reader: WireReader, version: number, isFlexible: boolean): TopicMetadata | undefined {
  const errorCode = reader.int16();
  const topic = reader.nullableString(isFlexible);
  const topicId = version >= first.topicId ? reader.uuid() : noTopicId;
  reader.int8(); // internal
  const partitions: PartitionMetadata[] = [];
  const count = reader.arrayLength(isFlexible);
  for (let i = 0; i < count; i++) partitions.push(decodePartition(reader, version, isFlexible));
  if (version >= first.authorizedOperations) reader.int32();
  if (isFlexible) reader.tags();
  // A name may be missing only when a topic was asked for by id, which we don't do.
  if (topic === undefined) return undefined;
  partitions.sort((a, b) => a.partition - b.partition);
  const known = { topic, errorCode, partitions: errorCode === 0 ? partitions : [] };
  return topicId === noTopicId ? known : { ...known, topicId };
}

function decodePartition(reader: WireReader, version: number, isFlexible: boolean): PartitionMetadata {
  const errorCode = reader.int16();
  const partition = reader.int32();
  const leader = reader.int32();
  const leaderEpoch = version >= first.leaderEpoch ? reader.int32() : -1;
  const brokerLists = version >= first.offlineReplicas ? 3 : 2; // replicas, in-sync replicas, offline replicas
  for (let i = 0; i < brokerLists; i++) reader.skip(4 * Math.max(0, reader.arrayLength(isFlexible)));
  if (isFlexible) reader.tags();
  return { partition, errorCode, leader, leaderEpoch };
}
