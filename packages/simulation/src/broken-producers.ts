import type { Focus, TopicPlan } from './plan.ts';

/** One change to the text of one source file, named by the end of its path. */
export interface Patch {
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

/** A producer (or transport) that breaks a rule on purpose. */
export interface BrokenProducer {
  readonly name: string;
  /** The rule or property it breaks. */
  readonly rule: string;
  readonly patches: readonly Patch[];
  /** Where it takes a rare meeting of events: what to make likely. */
  readonly focus?: Focus;
  /** Within how many seeds the simulation must notice. */
  readonly seedsMax: number;
}

const sequencer = 'producer-core/src/sender/partition-sequencer.ts';
const resolution = 'producer-core/src/sender/resolution.ts';
const sender = 'producer-core/src/sender/sender.ts';
const effects = 'producer-core/src/sender/sequencer-effects.ts';
const accumulator = 'producer-core/src/accumulator/accumulator.ts';
const directory = 'producer-core/src/metadata/topic-directory.ts';
const connection = 'transport-memory/src/client-connection.ts';

const oneTopic: TopicPlan = {
  name: 'topic-0',
  partitions: 1,
  replicationFactor: 1,
  minInsyncReplicas: 1,
  segmentBytes: 10_000,
  maxMessageBytes: 1_048_588,
  timestampType: 'CreateTime',
};

/**
 * Ways to break the promise, most of them seen in real clients. The patches go on the sources as they are loaded, so that what
 * ships needs no switches; one that no longer fits its file is an error.
 */
export const brokenProducers: readonly BrokenProducer[] = [
  {
    name: 'numbers are given when a batch is filled, not when it is sent',
    rule: 'C2',
    seedsMax: 300,
    patches: [
      {
        file: accumulator,
        find: '    queue.ready.push(batch);\n    this.prepare(batch);',
        replace: `    batch.producerId = queue.sequencer.producerId;
    batch.epoch = queue.sequencer.epoch;
    batch.baseSequence = queue.sequencer.nextSequence;
    queue.sequencer.nextSequence += batch.recordCount;
    queue.ready.push(batch);
    this.prepare(batch);`,
      },
      {
        file: sequencer,
        find: '    batch.producerId = this.producerId;\n    batch.epoch = this.epoch;\n    if (this.#limits.idempotence) {',
        replace: '    if (this.#limits.idempotence && batch.baseSequence < 0) {',
      },
    ],
  },
  {
    name: 'a batch that comes back is sent after newer ones',
    rule: 'C4',
    seedsMax: 300,
    patches: [
      {
        file: sequencer,
        find: 'for (let index = 0; index < numbered.length; index++) {\n      const batch = numbered[index]!;\n      if (batch.attempt',
        replace:
          'for (let index = numbered.length - 1; index >= 0; index--) {\n      const batch = numbered[index]!;\n      if (batch.attempt',
      },
      { file: sequencer, find: 'return batch.waitsForHead && index > 0 ? null : batch;', replace: 'return batch;' },
    ],
  },
  {
    name: 'a batch of unknown fate is numbered anew without asking',
    rule: 'C9',
    seedsMax: 300,
    patches: [
      {
        file: resolution,
        find: '  const newestWaiting = numbered',
        replace: "  if (numbered.length > 0) return { do: 'bump' };\n  const newestWaiting = numbered",
      },
    ],
  },
  {
    name: 'several batches go to a leader that has not acknowledged one',
    rule: 'C7',
    seedsMax: 3000,
    patches: [{ file: sequencer, find: 'if (!this.#limits.idempotence) return true;', replace: 'return true;' }],
  },
  {
    name: 'the gate stays open while the broker forgets an idle producer',
    rule: 'C7',
    focus: {
      profile: 'kafka-4',
      faultGapsMs: { refuseBefore: 300 },
      cluster: { producerIdExpirationMs: 1500, producerIdExpirationCheckMs: 100 },
      producer: { requestTimeoutMs: 250, deliveryTimeoutMs: 400, retryBackoffMs: 5, retryBackoffMaxMs: 20 },
      workload: { idle: 0.3, burstMax: 20 },
    },
    seedsMax: 2000,
    patches: [
      {
        file: sequencer,
        find: 'this.#gateConnection === lane.connection && nowMs < this.#rememberedUntilMs;',
        replace: 'this.#gateConnection === lane.connection;',
      },
    ],
  },
  {
    name: 'six requests are in flight',
    rule: 'C5',
    seedsMax: 100,
    patches: [{ file: sender, find: 'lane.inFlight < maxInFlight &&', replace: 'lane.inFlight <= maxInFlight &&' }],
  },
  {
    name: 'the first answer "out of order" is taken for "not stored"',
    rule: 'C9',
    seedsMax: 3000,
    patches: [
      {
        file: resolution,
        find: "if (next !== undefined) return { do: 'ask', batch: next, round };",
        replace: "if (next !== undefined) return { do: 'bump' };",
      },
    ],
  },
  {
    name: 'the newest batch is not asked about when its callers were told already',
    rule: 'C9',
    focus: { profile: 'kafka-4', faultGapsMs: { refuseAfter: 60, restart: 150 } },
    seedsMax: 2000,
    patches: [{ file: resolution, find: 'index > newestWaiting && batch.unanswered > 0', replace: 'false' }],
  },
  {
    name: 'the first refusal is believed although a request may still be on its way',
    rule: 'C9',
    focus: {
      faultGapsMs: { delayRequest: 40 },
      requestDelayMaxMs: 900,
      cluster: { brokers: 1, topics: [oneTopic], latencyMs: { minMs: 1, maxMs: 5 } },
      producer: {
        requestTimeoutMs: 250,
        deliveryTimeoutMs: 350,
        lingerMs: 0,
        retryBackoffMs: 60,
        retryBackoffMaxMs: 60,
        maxInFlight: 5,
        idempotence: true,
      },
      workload: { gapMs: 20, crash: 0, restart: 0 },
    },
    seedsMax: 2000,
    patches: [
      {
        file: resolution,
        find: "if (lostAtMs === Number.NEGATIVE_INFINITY) return { do: 'bump' };",
        replace: "if (round >= 1) return { do: 'bump' };",
      },
    ],
  },
  {
    name: 'one partition takes its next epoch, and all others with it',
    rule: 'C9',
    seedsMax: 1000,
    patches: [
      {
        file: sequencer,
        find: '  #bump(nowMs: number): void {',
        replace: `  bumpToo(nowMs: number): void {
    if (this.state !== 'flowing' || this.outstanding > 0) return;
    this.#moveTo('resolving');
    this.#bump(nowMs);
  }

  #bump(nowMs: number): void {`,
      },
      {
        file: sequencer,
        find: '    this.#effects.bumped(report);',
        replace: '    this.#effects.bumped(report);\n    if (!globalThis.bumping) this.#effects.bumpOthers?.(nowMs);',
      },
      {
        file: effects,
        find: '    requestIdentity: ',
        replace: `    bumpOthers: (nowMs) => {
      globalThis.bumping = true;
      for (const other of queue.topic.partitions) if (other !== queue) other.sequencer.bumpToo(nowMs);
      globalThis.bumping = false;
    },
    requestIdentity: `,
      },
    ],
  },
  {
    name: 'a partition takes its next epoch and keeps its counter',
    rule: 'C9',
    seedsMax: 300,
    patches: [
      {
        file: sequencer,
        find: '    this.numbered.length = 0;\n    this.nextSequence = 0;',
        replace: '    this.numbered.length = 0;',
      },
    ],
  },
  {
    name: 'a connection is kept after a timeout, and its late reply taken for the next one',
    rule: 'T4',
    seedsMax: 300,
    patches: [
      {
        file: connection,
        find: "request in time`, 'REQUEST_TIMEOUT');\n      return;",
        replace: "request in time`, 'REQUEST_TIMEOUT', late);",
      },
      {
        file: connection,
        find: '  close(why: string, code: string): void {\n',
        replace: `  close(why: string, code: string, late?: Pending): void {
    if (late !== undefined) {
      this.#pending.delete(late.correlationId);
      late.reject(lost(why, code, late));
      return;
    }
`,
      },
      {
        file: connection,
        find: '    const pending = this.#pending.get(correlationId);\n    if (pending === undefined) return;\n    this.#pending.delete(correlationId);',
        replace: `    const pending = [...this.#pending.values()].find((each) => each.request.api === reply.api);
    if (pending === undefined) return;
    this.#pending.delete(pending.correlationId);`,
      },
    ],
  },
  {
    name: 'a batch is built again for its retry',
    rule: 'C1',
    seedsMax: 100,
    patches: [
      {
        file: sender,
        find: '    if (!batch.isStamped) {',
        replace: `    if (batch.isStamped) {
      batch.bytes.writeBigInt64BE(BigInt(Math.floor(nowMs)), 35);
      stampBatch(batch.bytes, batch.bytes.length, batch);
    }
    if (!batch.isStamped) {`,
      },
    ],
  },
  {
    name: 'a batch that may be stored is reported as not stored',
    rule: 'C8',
    seedsMax: 100,
    patches: [
      {
        file: 'producer-core/src/accumulator/batch.ts',
        find: "? 'unknown' : 'not-stored'",
        replace: "? 'not-stored' : 'not-stored'",
      },
    ],
  },
  {
    name: 'every record of a batch gets the offset of the first',
    rule: 'P2',
    seedsMax: 100,
    patches: [{ file: 'producer-core/src/record.ts', find: 'baseOffset + BigInt(this.#index)', replace: 'baseOffset' }],
  },
  {
    name: 'a settled batch keeps its memory',
    rule: 'C14',
    seedsMax: 100,
    patches: [
      {
        file: accumulator,
        find: 'if (buffer !== null) this.pool.release(buffer);\n    if (chargedBytes > 0) this.pool.discharge(chargedBytes);\n    this.#memoryFreed();\n  }\n\n  #queueFor',
        replace:
          'if (chargedBytes > 0) this.pool.discharge(chargedBytes);\n    this.#memoryFreed();\n  }\n\n  #queueFor',
      },
    ],
  },
  {
    name: 'a topic that was made again is taken for the one that was deleted',
    rule: 'C11',
    seedsMax: 300,
    patches: [{ file: directory, find: 'if (!isAnother) return;', replace: 'return;' }],
  },
  {
    name: 'an answer of a topic that was deleted opens the gate to the one in its place',
    rule: 'C7',
    focus: { profile: 'kafka-4', faultGapsMs: { recreateTopic: 300, delayReply: 100, loseRequest: 100 } },
    seedsMax: 2000,
    patches: [
      {
        file: sequencer,
        find: 'if (!attempt.ofFormerTopic) this.#leaderHas(',
        replace: 'this.#leaderHas(',
      },
    ],
  },
  {
    name: 'a record for a partition that was added overtakes those that wait to hear of it',
    rule: 'C14',
    focus: {
      faultGapsMs: { addPartitions: 500, loseRequest: 100 },
      producer: { bufferMemory: 8192, maxRequestSize: 4096, batchSize: 1024, maxBlockMs: 5000 },
      workload: { burstMax: 20, valueBytesMax: 400 },
    },
    seedsMax: 2000,
    patches: [
      {
        file: accumulator,
        find: "    if (waitsFor === 'memory') {\n      // Chosen now",
        replace: "    if (waitsFor === 'memory' && this.#memoryWaiters.length === 0) {\n      // Chosen now",
      },
    ],
  },
];
