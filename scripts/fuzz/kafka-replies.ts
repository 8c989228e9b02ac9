import type { ProduceRequest } from '@sendonce/producer-core/transport';
import {
  FrameLengthError,
  FrameReader,
  maxFrameBytes,
} from '../../packages/transport-kafka/src/connection/frame-reader.ts';
import {
  apiKeys,
  firstFlexibleVersion,
  supportedVersions,
} from '../../packages/transport-kafka/src/protocol/api-keys.ts';
import { decodeApiVersions } from '../../packages/transport-kafka/src/protocol/api-versions.ts';
import { decodeInitProducerId } from '../../packages/transport-kafka/src/protocol/init-producer-id.ts';
import { decodeMetadata } from '../../packages/transport-kafka/src/protocol/metadata.ts';
import { decodeProduce } from '../../packages/transport-kafka/src/protocol/produce-reply.ts';
import { groupByTopic } from '../../packages/transport-kafka/src/protocol/produce-request.ts';
import { TopicNames } from '../../packages/transport-kafka/src/protocol/topic-names.ts';
import { MalformedReplyError, WireReader } from '../../packages/transport-kafka/src/protocol/wire-reader.ts';
import { WireWriter } from '../../packages/transport-kafka/src/protocol/wire-writer.ts';
import { SessionLifetimeSpy } from '../../packages/transport-kafka/src/session-lifetime-spy.ts';
import { mutated } from './byte-mutations.ts';
import type { RandomInput } from './random-input.ts';
import type { FuzzTarget } from './targets.ts';

// Replies of brokers. An input is one byte for the version, then the reply's body as the connection hands it on.

const replyBytesMax = 4096;
const topicIdBytes = 16;
const idOf = (byte: number): string => Buffer.alloc(topicIdBytes, byte).toString('base64url');
const request: ProduceRequest = {
  acks: 'all',
  timeoutMs: 1_000,
  partitions: [
    { topic: 'a', topicId: idOf(1), partition: 0, batch: Buffer.alloc(1) },
    { topic: 'b', topicId: idOf(2), partition: 5, batch: Buffer.alloc(1) },
    { topic: 'a', topicId: idOf(1), partition: 1, batch: Buffer.alloc(1) },
  ],
};
const groups = groupByTopic(request, new TopicNames());

type Write = (writer: WireWriter, version: number, random: RandomInput) => void;

function sound(version: number, random: RandomInput, write: Write): Buffer {
  const writer = new WireWriter();
  writer.reserve(replyBytesMax);
  writer.int8(version);
  write(writer, version, random);
  return Buffer.from(writer.take());
}

const text = (writer: WireWriter, value: string, isFlexible: boolean): void =>
  writer.string(Buffer.from(value), isFlexible);

/** A tagged field of the kind that later versions bring. */
function tag(writer: WireWriter, tagNumber: number, content: Buffer): void {
  writer.unsignedVarint(1);
  writer.unsignedVarint(tagNumber);
  writer.unsignedVarint(content.length);
  writer.bytes(content);
}

const writeApiVersions: Write = (writer, version, random) => {
  const isFlexible = version === 3;
  writer.int16(random.pick([0, 0, 0, 35]));
  const count = random.below(60);
  writer.arrayLength(count, isFlexible);
  for (let apiKey = 0; apiKey < count; apiKey++) {
    writer.int16(apiKey);
    writer.int16(random.below(3));
    writer.int16(random.below(14));
    writer.noTags(isFlexible);
  }
  if (version > 0) writer.int32(0);
  writer.noTags(isFlexible);
};

const writeInitProducerId: Write = (writer, version, random) => {
  const isFlexible = version >= firstFlexibleVersion.initProducerId;
  writer.noTags(isFlexible);
  writer.int32(0);
  writer.int16(random.pick([0, 0, 14, 31]));
  writer.int64(BigInt(random.below(2 ** 31)));
  writer.int16(random.below(100));
  writer.noTags(isFlexible);
};

const writeMetadata: Write = (writer, version, random) => {
  const isFlexible = version >= firstFlexibleVersion.metadata;
  writer.noTags(isFlexible);
  writer.int32(0);
  const brokers = random.below(4);
  writer.arrayLength(brokers, isFlexible);
  for (let id = 1; id <= brokers; id++) {
    writer.int32(id);
    text(writer, `broker-${id}.example.net`, isFlexible);
    writer.int32(9092);
    writer.nullString(isFlexible);
    writer.noTags(isFlexible);
  }
  writer.nullString(isFlexible);
  writer.int32(1);
  const topics = random.below(4);
  writer.arrayLength(topics, isFlexible);
  for (let topic = 0; topic < topics; topic++) {
    writer.int16(random.pick([0, 0, 3]));
    text(writer, `topic-${topic}`, isFlexible);
    if (version >= 10) writer.bytes(random.bytes(topicIdBytes));
    writer.int8(0);
    const partitions = random.below(5);
    writer.arrayLength(partitions, isFlexible);
    for (let partition = 0; partition < partitions; partition++) {
      writer.int16(0);
      writer.int32(partition);
      writer.int32(1);
      if (version >= 7) writer.int32(random.below(9));
      for (let list = version >= 5 ? 3 : 2; list > 0; list--) {
        writer.arrayLength(1, isFlexible);
        writer.int32(1);
      }
      writer.noTags(isFlexible);
    }
    if (version >= 8) writer.int32(0);
    writer.noTags(isFlexible);
  }
  if (version >= 8 && version <= 10) writer.int32(0);
  if (version >= 13) writer.int16(0);
  writer.noTags(isFlexible);
};

const writeProduce: Write = (writer, version, random) => {
  const isFlexible = version >= firstFlexibleVersion.produce;
  writer.noTags(isFlexible);
  writer.arrayLength(groups.length, isFlexible);
  for (const { topic, id, positions } of groups) {
    if (version >= 13) writer.bytes(id!);
    else writer.string(topic.utf8, isFlexible);
    writer.arrayLength(positions.length, isFlexible);
    for (const position of positions) {
      writer.int32(request.partitions[position]!.partition);
      writer.int16(random.pick([0, 0, 6, 10, 87]));
      writer.int64(BigInt(random.below(1000)));
      writer.int64(-1n);
      if (version >= 5) writer.int64(0n);
      if (version >= 8) {
        writer.arrayLength(1, isFlexible);
        writer.int32(0);
        text(writer, 'the record is bad', isFlexible);
        writer.noTags(isFlexible);
        writer.nullString(isFlexible);
      }
      if (isFlexible && random.chance(0.5)) tag(writer, 0, Buffer.from('00000002000000070000', 'hex'));
      else writer.noTags(isFlexible);
    }
    writer.noTags(isFlexible);
  }
  writer.int32(random.below(100));
  if (isFlexible && random.chance(0.5)) tag(writer, 0, Buffer.from('0200000002026200002384000000', 'hex'));
  else writer.noTags(isFlexible);
};

interface ReplyKind {
  readonly name: string;
  readonly versions: { readonly min: number; readonly max: number };
  readonly write: Write;
  /** Reads the reply; throws when what it returns is out of proportion. */
  read(reader: WireReader, version: number): void;
}

/** Fields of objects take memory: as many objects as the reply has bytes are too many. */
function assertInProportion(objects: number, bytes: number): void {
  if (objects > bytes) throw new Error(`${objects} objects out of ${bytes} bytes`);
}

const kinds: readonly ReplyKind[] = [
  {
    name: 'api-versions-reply',
    versions: { min: 0, max: 3 },
    write: writeApiVersions,
    read: (reader, version) => {
      const bytes = reader.remaining;
      assertInProportion(decodeApiVersions(reader, version === 3 ? 3 : 0).ranges.size, bytes);
    },
  },
  {
    name: 'init-producer-id-reply',
    versions: supportedVersions.initProducerId,
    write: writeInitProducerId,
    read: (reader, version) => {
      decodeInitProducerId(reader, version);
    },
  },
  {
    name: 'metadata-reply',
    versions: supportedVersions.metadata,
    write: writeMetadata,
    read: (reader, version) => {
      const bytes = reader.remaining;
      const { brokers, topics } = decodeMetadata(reader, version);
      const partitions = topics.reduce((sum, topic) => sum + topic.partitions.length, 0);
      assertInProportion(brokers.length + topics.length + partitions, bytes);
    },
  },
  {
    name: 'produce-reply',
    versions: supportedVersions.produce,
    write: writeProduce,
    read: (reader, version) => {
      const bytes = reader.remaining;
      const { results, endpoints } = decodeProduce(reader, version, request, groups);
      if (results.length !== request.partitions.length || results.includes(undefined as never))
        throw new Error(`${results.length} results for ${request.partitions.length} partitions`);
      assertInProportion(endpoints.length, bytes);
    },
  },
];

function replyTarget({ name, versions, write, read }: ReplyKind): FuzzTarget {
  return {
    name,
    generate: (random) => {
      const version = versions.min + random.below(versions.max - versions.min + 1);
      const kind = random.below(10);
      if (kind === 0) return Buffer.concat([Buffer.from([version]), random.bytes(random.below(200))]);
      const reply = sound(version, random, write);
      // The version stays: one that was not agreed on is never decoded.
      return kind === 1 ? reply : Buffer.concat([reply.subarray(0, 1), mutated(reply.subarray(1), random)]);
    },
    decode: (input) => {
      try {
        read(new WireReader(input.subarray(1)), input[0]!);
        return 'decoded';
      } catch (error) {
        if (error instanceof MalformedReplyError) return 'MalformedReplyError';
        throw error;
      }
    },
  };
}

/** A stream of frames, cut into chunks at places that its own bytes choose. */
const frameTarget: FuzzTarget = {
  name: 'frames',
  generate: (random) => {
    const frames = Array.from({ length: random.below(6) }, () => {
      const frame = random.bytes(8 + random.below(300));
      frame.writeInt32BE(frame.length - 4, 0);
      return frame;
    });
    const stream = Buffer.concat([...frames, random.bytes(4)]);
    return random.chance(0.2) ? stream.subarray(0, stream.length - 4) : mutated(stream, random);
  },
  decode: (input) => {
    let framed = 0;
    const reader = new FrameReader((buffer, start, end) => {
      if (start < 0 || end > buffer.length || end - start > maxFrameBytes)
        throw new Error(`a frame from ${start} to ${end}`);
      framed += 4 + end - start;
    });
    try {
      for (let at = 0; at < input.length; ) {
        const size = 1 + (input[at]! % 50);
        reader.push(input.subarray(at, at + size));
        at += size;
      }
    } catch (error) {
      if (error instanceof FrameLengthError) return 'FrameLengthError';
      throw error;
    }
    if (framed > input.length) throw new Error(`${framed} bytes in frames out of ${input.length}`);
    return 'read';
  },
};

/** What passes by while kafkajs authenticates. */
const saslTarget: FuzzTarget = {
  name: 'sasl-authenticate-reply',
  generate: (random) => {
    const reply = Buffer.alloc(4 + 2 + 2 + 4 + 8);
    reply.writeInt32BE(7, 0);
    reply.writeInt16BE(-1, 6);
    reply.writeBigInt64BE(BigInt(random.below(2 ** 31)), 12);
    return random.chance(0.1) ? reply : Buffer.concat([reply.subarray(0, 4), mutated(reply.subarray(4), random)]);
  },
  decode: (input) => {
    const spy = new SessionLifetimeSpy();
    const asked = Buffer.alloc(12);
    asked.writeInt16BE(apiKeys.saslAuthenticate, 4);
    asked.writeInt16BE(1, 6);
    asked.writeInt32BE(7, 8);
    spy.onRequest(asked);
    try {
      spy.onReply(input, 0, input.length);
    } catch (error) {
      if (error instanceof MalformedReplyError) return 'MalformedReplyError';
      throw error;
    }
    if (!(spy.lifetimeMs >= 0)) throw new Error(`a session of ${spy.lifetimeMs} ms`);
    return 'read';
  },
};

export const kafkaReplyTargets: readonly FuzzTarget[] = [...kinds.map(replyTarget), frameTarget, saslTarget];
