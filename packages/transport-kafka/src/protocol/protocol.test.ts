import type { ProduceRequest } from '@sendonce/producer-core/transport';
import { describe, expect, test } from 'vitest';
import { compact, int8, int16, int32, int64 } from '../scripted-broker.testkit.ts';
import { agreeOnVersions, decodeApiVersions, encodeApiVersions, softwareVersion } from './api-versions.ts';
import { decodeInitProducerId, encodeInitProducerId } from './init-producer-id.ts';
import { decodeMetadata, encodeMetadata } from './metadata.ts';
import { decodeProduce } from './produce-reply.ts';
import { encodeProduce, groupByTopic, produceVersion } from './produce-request.ts';
import { TopicNames } from './topic-names.ts';
import { MalformedReplyError, WireReader } from './wire-reader.ts';
import { WireWriter } from './wire-writer.ts';

const clientId = Buffer.from('me');
const hex = (...pieces: Uint8Array[]) => Buffer.concat(pieces).toString('hex');
const plainText = (text: string) => Buffer.concat([int16(text.length), Buffer.from(text)]);
const head = (apiKey: number, version: number, isFlexible: boolean) =>
  Buffer.concat([int16(apiKey), int16(version), int32(9), plainText('me'), ...(isFlexible ? [int8(0)] : [])]);
const framed = (...pieces: Uint8Array[]) => {
  const body = Buffer.concat(pieces);
  return Buffer.concat([int32(body.length), body]);
};
const idOf = (byte: number) => Buffer.alloc(16, byte);

const request: ProduceRequest = {
  acks: 'all',
  timeoutMs: 30_000,
  partitions: [
    { topic: 'a', partition: 0, batch: Buffer.from('batch a0') },
    { topic: 'b', partition: 5, batch: Buffer.from('batch b5') },
    { topic: 'a', partition: 1, batch: Buffer.from('batch a1') },
  ],
};

const ids: Readonly<Record<string, string>> = {
  a: idOf(0xaa).toString('base64url'),
  b: idOf(0xbb).toString('base64url'),
};
const requestWithIds: ProduceRequest = {
  ...request,
  partitions: request.partitions.map((each) => ({ ...each, topicId: ids[each.topic] })),
};

function encoded(version: number, request: ProduceRequest): Uint8Array[] {
  const names = new TopicNames();
  const pieces: Uint8Array[] = [];
  encodeProduce(
    new WireWriter(),
    { version, correlationId: 9, clientId, request, groups: groupByTopic(request, names) },
    pieces,
  );
  return pieces;
}

describe('requests, byte for byte', () => {
  test('ApiVersions 3 names the software, 0 is empty', () => {
    expect(hex(encodeApiVersions(new WireWriter(), 3, 9, clientId))).toBe(
      hex(framed(head(18, 3, true), compact('sendonce'), compact(softwareVersion), int8(0))),
    );
    expect(hex(encodeApiVersions(new WireWriter(), 0, 9, clientId))).toBe(hex(framed(head(18, 0, false))));
  });

  test('InitProducerId without a transactional id: 1 is old, 2 flexible, 3 brings no identity', () => {
    const bytes = (version: number) => hex(encodeInitProducerId(new WireWriter(), version, 9, clientId));
    expect(bytes(1)).toBe(hex(framed(head(22, 1, false), int16(-1), int32(60_000))));
    expect(bytes(2)).toBe(hex(framed(head(22, 2, true), int8(0), int32(60_000), int8(0))));
    expect(bytes(4)).toBe(hex(framed(head(22, 4, true), int8(0), int32(60_000), int64(-1n), int16(-1), int8(0))));
  });

  test('Metadata: names, no creation, no authorized operations', () => {
    const bytes = (version: number) =>
      hex(encodeMetadata(new WireWriter(), version, 9, clientId, { topics: ['a'], allowAutoTopicCreation: false }));
    expect(bytes(7)).toBe(hex(framed(head(3, 7, false), int32(1), plainText('a'), int8(0))));
    expect(bytes(8)).toBe(hex(framed(head(3, 8, false), int32(1), plainText('a'), int8(0, 0, 0))));
    expect(bytes(9)).toBe(hex(framed(head(3, 9, true), int8(2), compact('a'), int8(0), int8(0, 0, 0), int8(0))));
    expect(bytes(12)).toBe(
      hex(framed(head(3, 12, true), int8(2), Buffer.alloc(16), compact('a'), int8(0), int8(0, 0), int8(0))),
    );
  });

  test('Produce 7, with topics gathered and batches in place', () => {
    const topicA = [
      plainText('a'),
      int32(2),
      int32(0),
      int32(8),
      Buffer.from('batch a0'),
      int32(1),
      int32(8),
      Buffer.from('batch a1'),
    ];
    const topicB = [plainText('b'), int32(1), int32(5), int32(8), Buffer.from('batch b5')];
    expect(hex(...encoded(7, request))).toBe(
      hex(framed(head(0, 7, false), int16(-1), int16(-1), int32(30_000), int32(2), ...topicA, ...topicB)),
    );
  });

  test('Produce 9 names topics, 13 gives their ids', () => {
    const partitions = (...entries: [number, string][]) => [
      int8(entries.length + 1),
      ...entries.flatMap(([partition, batch]) => [int32(partition), int8(9), Buffer.from(batch), int8(0)]),
      int8(0),
    ];
    const a = partitions([0, 'batch a0'], [1, 'batch a1']);
    const b = partitions([5, 'batch b5']);
    const start = [int8(0), int16(-1), int32(30_000), int8(3)];
    expect(hex(...encoded(9, requestWithIds))).toBe(
      hex(framed(head(0, 9, true), ...start, compact('a'), ...a, compact('b'), ...b, int8(0))),
    );
    expect(hex(...encoded(13, requestWithIds))).toBe(
      hex(framed(head(0, 13, true), ...start, idOf(0xaa), ...a, idOf(0xbb), ...b, int8(0))),
    );
  });

  test('T1: batches are sent as the very buffers that were given, not copies', () => {
    const pieces = encoded(9, request);
    for (const { batch } of request.partitions) expect(pieces).toContain(batch);
  });

  test('ids are used only when all are known', () => {
    const names = new TopicNames();
    const [a, b] = requestWithIds.partitions;
    const partly = { ...request, partitions: [a!, { ...b!, topicId: undefined }] };
    expect(produceVersion(13, groupByTopic(requestWithIds, names))).toBe(13);
    expect(produceVersion(13, groupByTopic(partly, names))).toBe(12);
    expect(produceVersion(9, groupByTopic(requestWithIds, names))).toBe(9);
  });

  test('more requests than one slab holds do not overwrite one another', () => {
    const writer = new WireWriter();
    const bytes = Array.from({ length: 5_000 }, (_, i) => encodeApiVersions(writer, 3, i, clientId));
    expect(bytes.map((each) => each.readInt32BE(8))).toEqual(Array.from({ length: 5_000 }, (_, i) => i));
  });
});

const partition10 = (partition: number, errorCode: number, offset: bigint, message: Buffer, tags: Buffer) =>
  Buffer.concat([int32(partition), int16(errorCode), int64(offset), int64(-1n), int64(3n), int8(1), message, tags]);
const noMessage = int8(0);
const noTags = int8(0);
/** Tag 0: leader 4, epoch 17. */
const leaderTag = Buffer.concat([int8(1, 0, 9), int32(4), int32(17), noTags]);
const endpointsTag = (() => {
  const content = Buffer.concat([int8(2), int32(4), compact('h4'), int32(9094), int8(0, 0)]);
  return Buffer.concat([int8(1, 0, content.length), content]);
})();

const produceReply10 = Buffer.concat([
  noTags,
  int8(3),
  // The other order, and b before a.
  compact('b'),
  int8(2),
  partition10(5, 0, 500n, noMessage, noTags),
  noTags,
  compact('a'),
  int8(3),
  partition10(1, 6, -1n, compact('moved'), leaderTag),
  partition10(0, 0, 100n, noMessage, noTags),
  noTags,
  int32(250),
  endpointsTag,
]);

const decode10 = (bytes: Buffer) =>
  decodeProduce(new WireReader(bytes), 10, request, groupByTopic(request, new TopicNames()));

describe('replies', () => {
  test('Produce: results in the request’s order, leader hint and its address (KIP-951), throttle time', () => {
    const { results, throttleTimeMs, endpoints } = decode10(produceReply10);
    expect(results).toEqual([
      { topic: 'a', partition: 0, errorCode: 0, baseOffset: 100n, logAppendTimeMs: -1, logStartOffset: 3n },
      { topic: 'b', partition: 5, errorCode: 0, baseOffset: 500n, logAppendTimeMs: -1, logStartOffset: 3n },
      {
        topic: 'a',
        partition: 1,
        errorCode: 6,
        errorMessage: 'moved',
        baseOffset: -1n,
        logAppendTimeMs: -1,
        logStartOffset: 3n,
        currentLeader: { brokerId: 4, leaderEpoch: 17 },
      },
    ]);
    expect(throttleTimeMs).toBe(250);
    expect(endpoints).toEqual([{ brokerId: 4, host: 'h4', port: 9094 }]);
  });

  test('Produce 3, as services without log start offsets speak it', () => {
    const one: ProduceRequest = { ...request, partitions: request.partitions.slice(0, 1) };
    const reply = Buffer.concat([
      int32(1),
      plainText('a'),
      int32(1),
      int32(0),
      int16(0),
      int64(8n),
      int64(1_700_000_000_123n),
      int32(0),
    ]);
    const { results } = decodeProduce(new WireReader(reply), 3, one, groupByTopic(one, new TopicNames()));
    expect(results).toEqual([
      {
        topic: 'a',
        partition: 0,
        errorCode: 0,
        baseOffset: 8n,
        logAppendTimeMs: 1_700_000_000_123,
        logStartOffset: -1n,
      },
    ]);
  });

  test('a later request for a topic of the same name does not disturb the answer', () => {
    const names = new TopicNames();
    const [first] = requestWithIds.partitions;
    const one: ProduceRequest = { ...request, partitions: [first!] };
    const groups = groupByTopic(one, names);
    groupByTopic({ ...one, partitions: [{ ...first!, topicId: idOf(0x11).toString('base64url') }] }, names);
    const reply = Buffer.concat([
      noTags,
      int8(2),
      idOf(0xaa),
      int8(2),
      partition10(0, 0, 5n, noMessage, noTags),
      noTags,
      int32(0),
      noTags,
    ]);
    expect(decodeProduce(new WireReader(reply), 13, one, groups).results[0]?.baseOffset).toBe(5n);
  });

  test('Metadata 12: brokers, ids, epochs, partitions in order, errors of topics', () => {
    const broker = Buffer.concat([int32(2), compact('h'), int32(9092), int8(0, 0)]);
    const partition = (n: number, leader: number) =>
      Buffer.concat([int16(0), int32(n), int32(leader), int32(7), int8(2), int32(2), int8(1, 1, 0)]);
    const topicA = Buffer.concat([
      int16(0),
      compact('a'),
      idOf(0xaa),
      int8(0, 3),
      partition(1, 2),
      partition(0, -1),
      int32(0),
      noTags,
    ]);
    const missing = Buffer.concat([int16(3), compact('x'), idOf(0), int8(0, 1), int32(0), noTags]);
    const reply = Buffer.concat([
      noTags,
      int32(0),
      int8(2),
      broker,
      int8(0),
      int32(2),
      int8(3),
      topicA,
      missing,
      noTags,
    ]);
    const { brokers, topics } = decodeMetadata(new WireReader(reply), 12);
    expect(brokers).toEqual([{ brokerId: 2, host: 'h', port: 9092 }]);
    expect(topics).toEqual([
      {
        topic: 'a',
        errorCode: 0,
        topicId: idOf(0xaa).toString('base64url'),
        partitions: [
          { partition: 0, errorCode: 0, leader: -1, leaderEpoch: 7 },
          { partition: 1, errorCode: 0, leader: 2, leaderEpoch: 7 },
        ],
      },
      { topic: 'x', errorCode: 3, partitions: [] },
    ]);
  });

  test('InitProducerId', () => {
    const reply = Buffer.concat([noTags, int32(0), int16(0), int64(5001n), int16(0), noTags]);
    expect(decodeInitProducerId(new WireReader(reply), 4)).toEqual({
      throttleTimeMs: 0,
      errorCode: 0,
      producerId: 5001n,
      epoch: 0,
    });
  });

  test('ApiVersions: an old broker refuses version 3 in the encoding of version 0', () => {
    const refusal = Buffer.concat([int16(35), int32(1), int16(18), int16(0), int16(2)]);
    expect(decodeApiVersions(new WireReader(refusal), 3)).toEqual({
      errorCode: 35,
      ranges: new Map([[18, { min: 0, max: 2 }]]),
    });
  });

  test('the highest version that both sides know is used; none is an answer too', () => {
    const offers = (produceMin: number, produceMax: number) =>
      new Map([
        [0, { min: produceMin, max: produceMax }],
        [3, { min: 0, max: 12 }],
        [22, { min: 0, max: 9 }],
      ]);
    expect(agreeOnVersions(offers(0, 20))).toEqual({ agreed: { produce: 13, metadata: 12, initProducerId: 5 } });
    expect(agreeOnVersions(offers(0, 7))).toEqual({ agreed: { produce: 7, metadata: 12, initProducerId: 5 } });
    expect(agreeOnVersions(offers(14, 20))).toEqual({ missing: 'produce', offered: { min: 14, max: 20 } });
    expect(agreeOnVersions(new Map())).toMatchObject({ missing: 'produce', offered: undefined });
  });
});

describe('hostile replies', () => {
  test('a produce reply cut anywhere is malformed, never half read', () => {
    for (let end = 0; end < produceReply10.length; end++)
      expect(() => decode10(produceReply10.subarray(0, end))).toThrow(MalformedReplyError);
  });

  test('a produce reply with any byte changed is read or malformed, and nothing else', () => {
    for (let at = 0; at < produceReply10.length; at++) {
      for (const value of [0, 1, 0x7f, 0x80, 0xff]) {
        const damaged = Buffer.from(produceReply10);
        damaged[at] = value;
        try {
          expect(decode10(damaged).results).toHaveLength(3);
        } catch (error) {
          expect(error).toBeInstanceOf(MalformedReplyError);
        }
      }
    }
  });

  test('an answer for a partition that was not asked for, or twice, or missing is malformed', () => {
    const one: ProduceRequest = { ...request, partitions: request.partitions.slice(0, 1) };
    const read = (...partitions: Buffer[]) => {
      const reply = Buffer.concat([
        noTags,
        int8(2),
        compact('a'),
        int8(partitions.length + 1),
        ...partitions,
        noTags,
        int32(0),
        noTags,
      ]);
      return decodeProduce(new WireReader(reply), 10, one, groupByTopic(one, new TopicNames()));
    };
    const answer = (partition: number) => partition10(partition, 0, 1n, noMessage, noTags);
    expect(read(answer(0)).results).toHaveLength(1);
    expect(() => read(answer(3))).toThrow('not asked for');
    expect(() => read(answer(0), answer(0))).toThrow('answered twice');
    expect(() => read()).toThrow('0 of 1');
  });
});
