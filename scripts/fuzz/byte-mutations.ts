import type { RandomInput } from './random-input.ts';

type Mutation = (bytes: Buffer, random: RandomInput) => Buffer;

/** Varints that lengths and counts should never have: overlong, never ending, huge, negative. */
const hostileVarints = [
  '80',
  '8080808080',
  'ffffffff0f',
  'feffffff0f',
  'ffffffff1f',
  '01',
  '03',
  '7e',
  'feff03',
  'ffffffffffffffffff01',
  '8080808000',
].map((hex) => Buffer.from(hex, 'hex'));

function replaced(bytes: Buffer, at: number, removed: number, inserted: Buffer): Buffer {
  return Buffer.concat([bytes.subarray(0, at), inserted, bytes.subarray(at + removed)]);
}

const mutations: readonly Mutation[] = [
  function flipBit(bytes, random) {
    const at = random.below(bytes.length);
    bytes[at] = bytes[at]! ^ (1 << random.below(8));
    return bytes;
  },
  function setByte(bytes, random) {
    bytes[random.below(bytes.length)] = random.pick([0, 1, 2, 0x7f, 0x80, 0xff, random.below(256)]);
    return bytes;
  },
  function setNumber(bytes, random) {
    if (bytes.length < 4) return bytes;
    const at = random.below(bytes.length - 3);
    const value = random.int32();
    if (random.chance(0.5)) bytes.writeInt32BE(value, at);
    else bytes.writeInt32LE(value, at);
    return bytes;
  },
  (bytes, random) => replaced(bytes, random.below(bytes.length), random.below(3), random.pick(hostileVarints)),
  (bytes, random) => bytes.subarray(0, random.below(bytes.length)),
  (bytes, random) => Buffer.concat([bytes, random.bytes(1 + random.below(20))]),
  (bytes, random) => replaced(bytes, random.below(bytes.length), 1 + random.below(8), Buffer.alloc(0)),
  function repeatSlice(bytes, random) {
    const from = random.below(bytes.length);
    const slice = Buffer.from(bytes.subarray(from, from + 1 + random.below(40)));
    return replaced(bytes, random.below(bytes.length), 0, slice);
  },
];

/** A copy with one to four changes. */
export function mutated(original: Buffer, random: RandomInput): Buffer {
  let bytes = Buffer.from(original);
  for (let changes = 1 + random.below(4); changes > 0 && bytes.length > 0; changes--) {
    bytes = Buffer.from(random.pick(mutations)(bytes, random));
  }
  return bytes;
}
