import { describe, expect, it } from 'vitest';
import { findRecordFault } from './record-walk.ts';

/** The body of a sound record: attributes, timestamp delta, offset delta, no key, value "x", no headers. */
const sound = [0, 0, 0, 1, 2, 120, 0] as const;

/** A record with that body, and the length it has. */
const record = (...body: readonly number[]): number[] => [body.length * 2, ...body];

const faultIn = (section: readonly number[], count = 1, checkOffsetDeltas = false): string | null =>
  findRecordFault(Uint8Array.from(section), 0, count, { checkOffsetDeltas });

const brokenOff = 'record 0 breaks off within a field, or holds a number that is too long';
const wrongEnd = 'record 0 does not end where its length says';

describe('M3: a records section is sound', () => {
  const sections: readonly (readonly [what: string, section: readonly number[], count?: number])[] = [
    ['with one record', record(...sound)],
    ['with two', [...record(...sound), ...record(...sound)], 2],
    ['with a length in two bytes', [0x80 | 14, 0, ...sound]],
    ['with an offset delta in two bytes', record(0, 0, 0x80, 0, 1, 2, 120, 0)],
    ['with an offset delta in five', record(0, 0, 0x80, 0x80, 0x80, 0x80, 0, 1, 2, 120, 0)],
    ['with a timestamp delta in two bytes', record(0, 0x80, 0, 0, 1, 2, 120, 0)],
    ['with a timestamp delta in ten', record(0, ...new Array(9).fill(0x80), 0, 0, 1, 2, 120, 0)],
    ['with a null key whose length takes two bytes', record(0, 0, 0, 0x81, 0, 2, 120, 0)],
    ['with an empty key and an empty value', record(0, 0, 0, 0, 0, 0)],
    ['with headers: an empty key, a null value', record(0, 0, 0, 1, 1, 4, 0, 1, 2, 97, 2, 49)],
  ];
  for (const [what, section, count] of sections) {
    it(what, () => {
      expect(faultIn(section, count)).toBeNull();
    });
  }
});

describe('M3: a records section is refused', () => {
  const sections: readonly (readonly [what: string, fault: string, section: readonly number[], count?: number])[] = [
    ['when it is empty', 'record 0 does not fit into the batch', []],
    ['when a record’s length is negative', 'record 0 does not fit into the batch', [1, ...sound]],
    ['when a record is longer than it', 'record 0 does not fit into the batch', [16, ...sound]],
    ['when it holds fewer records than it should', 'record 1 does not fit into the batch', record(...sound), 2],
    ['when it holds more', 'bytes remain after the last record', [...record(...sound), ...record(...sound)]],
    ['when a byte remains', 'bytes remain after the last record', [...record(...sound), 0]],
    ['when a record is empty', brokenOff, [...record(), ...record(...sound)], 2],
    ['when the timestamp does not end', brokenOff, record(0, 0x80)],
    ['when the timestamp takes eleven bytes', brokenOff, record(0, ...new Array(10).fill(0x80), 0, 0, 1, 1, 0)],
    ['when the offset delta takes six bytes', brokenOff, record(0, 0, 0x80, 0x80, 0x80, 0x80, 0x80, 0, 1, 1, 0)],
    ['when the offset delta has no end', brokenOff, record(0, 0, 0x80, 0x80, 0x80, 0x80, 0x80, 1, 2, 120, 0)],
    ['when a key’s length has no end', brokenOff, record(0, 0, 0, 0x80, 0x80, 0x80, 0x80, 0x80, 2, 120, 0)],
    ['when a key is longer than its record', brokenOff, [...record(0, 0, 0, 126, 1, 0), ...new Array(80).fill(0)]],
    ['when the number of headers is missing', brokenOff, [...record(0, 0, 0, 1, 2, 120), ...record(...sound)], 2],
    ['when the number of headers breaks off', brokenOff, [...record(0, 0, 0, 1, 2, 120, 0x80), ...record(...sound)], 2],
    ['when the number of headers is negative', 'record 0 has -1 headers', record(0, 0, 0, 1, 1, 1)],
    ['when a header’s key is null', 'record 0 has a header without a key', record(0, 0, 0, 1, 1, 2, 1)],
    ['when a header is missing', 'record 0 has a header without a key', record(0, 0, 0, 1, 1, 2)],
    ['when a header’s key is longer than its record', wrongEnd, record(0, 0, 0, 1, 1, 2, 100, 1)],
    ['when a record ends before its length', wrongEnd, record(...sound, 0)],
    ['when a record’s length reaches into the next one', wrongEnd, [16, ...sound, ...record(...sound)], 2],
  ];
  for (const [what, fault, section, count] of sections) {
    it(what, () => {
      expect(faultIn(section, count)).toBe(fault);
    });
  }

  it('for an offset delta that is not its index, where that is asked', () => {
    const second = record(0, 0, 2, 1, 2, 120, 0);
    expect(faultIn([...record(...sound), ...second], 2, true)).toBeNull();
    expect(faultIn([...record(...sound), ...record(...sound)], 2, true)).toBe('record 1 has offset delta 0');
    expect(faultIn([...record(...sound), ...record(...sound)], 2, false)).toBeNull();
  });

  it('only from where it starts: what comes before is the header', () => {
    expect(
      findRecordFault(Uint8Array.from([255, 255, ...record(...sound)]), 2, 1, { checkOffsetDeltas: true }),
    ).toBeNull();
  });
});
