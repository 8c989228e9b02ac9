import { randomBytes } from 'node:crypto';
import type { DoneAnswer, HeldAnswer } from '../store.ts';
import type { RedisArgument } from './client.ts';
import { SHARED_LEASE } from './lease-scripts.ts';
import type { Script } from './script.ts';
import { decodeMessages, encodeResult, ID_BYTES, type SharedAnswer } from './value.ts';

/** One lease for the keys that were claimed together: what happens to all of them is one write. See `lease-scripts.ts`. */
export interface SharedLease {
  readonly id: string;
  readonly fence: number;
  readonly keyNames: readonly RedisArgument[];
  /** How long the keys are kept after a claim or a renewal. */
  readonly keptMs: number;
}

/** The handle of a lease that is shared. */
export class SharedKey {
  readonly lease: SharedLease;
  readonly index: number;

  constructor(lease: SharedLease, index: number) {
    this.lease = lease;
    this.index = index;
  }
}

/** The key is to be asked again: it was let go, and `value` still stands in it unless somebody was faster; or it holds another one by now. */
export interface LetGo {
  readonly state: 'let-go';
  /** Empty when it is not there any more. */
  readonly value: Buffer;
  /** Of the claim before, 0 if the lease is gone. */
  readonly fence: number;
  readonly takeover: boolean;
}

export type RunScript = (
  script: Script,
  names: readonly RedisArgument[],
  args: readonly RedisArgument[],
) => Promise<unknown>;

const YES = '1'.charCodeAt(0);

const RANDOM_BYTES_PER_ID = (ID_BYTES * 6) >> 3;
const IDS_PER_DRAW = 64;
let drawn = Buffer.alloc(0);

/** A call for random bytes takes as long as claiming a key, so one is made for many ids. */
export function newLeaseId(): string {
  if (drawn.length === 0) drawn = randomBytes(RANDOM_BYTES_PER_ID * IDS_PER_DRAW);
  const id = drawn.toString('base64url', 0, RANDOM_BYTES_PER_ID);
  drawn = drawn.subarray(RANDOM_BYTES_PER_ID);
  return id;
}

/** The requests about shared leases; each is one script call. */
export class SharedLeases {
  readonly #prefix: string;
  readonly #run: RunScript;

  constructor(prefix: string, run: RunScript) {
    // A namespace is neither empty nor has it a NUL, so no key has such a name.
    this.#prefix = `${prefix}\0`;
    this.#run = run;
  }

  nameOf(id: string): string {
    return this.#prefix + id;
  }

  /** What became of keys of one lease. Those that may be claimed are let go: none but {@link LetGo}'s finder can have them. */
  async look(keys: readonly SharedAnswer[]): Promise<(DoneAnswer | HeldAnswer | LetGo)[]> {
    const [states, numbers, messages] = (await this.#run(
      SHARED_LEASE.look,
      [this.nameOf(keys[0]!.leaseId)],
      [bytesOf(keys.map(({ index }) => index))],
    )) as [Buffer, Buffer, Buffer];
    const [remainingMs, fence, claimedAtMs] = [0, 8, 16].map((at) => numbers.readDoubleBE(at)) as [
      number,
      number,
      number,
    ];
    const records = decodeMessages(messages, claimedAtMs);
    return keys.map(({ value }, place) => {
      const state = String.fromCharCode(states[place]!);
      if (state === 'D') return { state: 'done', record: records.next().value! };
      if (state === 'H') return { state: 'held', remainingMs };
      // Completed between our look at the key and that at its lease.
      if (state === 'O') return { state: 'let-go', value: Buffer.alloc(0), fence: 0, takeover: false };
      return { state: 'let-go', value, fence, takeover: state === 'T' };
    });
  }

  async renew(keys: readonly SharedKey[], leaseMs: number): Promise<boolean[]> {
    const { lease } = keys[0]!;
    const answers = await this.#run(
      SHARED_LEASE.renew,
      [this.nameOf(lease.id), ...lease.keyNames],
      [lease.fence, leaseMs, lease.keptMs, lease.id],
    );
    return keys.map(({ index }) => (answers as Buffer)[index] === YES);
  }

  async complete(
    keys: readonly SharedKey[],
    results: readonly (string | null)[],
    retentionMs: number,
  ): Promise<boolean[]> {
    if (results.every((result) => result === null)) {
      const answers = await this.#change(SHARED_LEASE.complete, keys);
      if (answers !== null) return answers;
    }
    const { lease } = keys[0]!;
    const answers = await this.#run(
      SHARED_LEASE.completeEach,
      [this.nameOf(lease.id), ...keys.map(({ index }) => lease.keyNames[index]!)],
      [lease.fence, bytesOf(keys.map(({ index }) => index)), retentionMs, lease.id, ...results.map(encodeResult)],
    );
    return truths(answers as Buffer);
  }

  async release(keys: readonly SharedKey[]): Promise<boolean[]> {
    return (await this.#change(SHARED_LEASE.release, keys))!;
  }

  async #change(script: Script, keys: readonly SharedKey[]): Promise<boolean[] | null> {
    const { id, fence, keyNames } = keys[0]!.lease;
    const indices = keys.map(({ index }) => index);
    const areAll = indices.length === keyNames.length && new Set(indices).size === keyNames.length;
    const answers = await this.#run(script, [this.nameOf(id)], [fence, bytesOf(indices), areAll ? 'all' : 'some']);
    return answers === null ? null : truths(answers as Buffer);
  }
}

/** An index is below 128, so its byte is a character that UTF-8 leaves as it is. */
function bytesOf(indices: readonly number[]): string {
  return String.fromCharCode(...indices);
}

function truths(answers: Buffer): boolean[] {
  return Array.from(answers, (answer) => answer === YES);
}
