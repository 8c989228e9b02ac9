import type { NotebookEntry, PartitionEvidence, ReplicaEvidence, Violation } from './evidence.ts';
import { type LoggedBatch, lastSequenceOf } from './log-reader.ts';

/** In-sync replicas hold the same batches, as far back as both reach (M6). */
export function checkReplicas({ topic, partition, replicas }: PartitionEvidence, violations: Violation[]): void {
  const leader = replicas.find(({ isLeader }) => isLeader);
  if (leader === undefined) {
    violations.push({
      property: 'every partition has a leader once the faults are over',
      message: `${topic}-${partition} has none`,
    });
    return;
  }
  for (const replica of replicas) {
    if (!replica.inSync || replica === leader) continue;
    const difference = firstDifference(leader, replica);
    if (difference !== null) {
      violations.push({
        property: 'in-sync replicas hold the same',
        message: `${topic}-${partition}: brokers ${leader.brokerId} and ${replica.brokerId} differ at offset ${difference}`,
      });
    }
  }
}

function firstDifference(one: ReplicaEvidence, other: ReplicaEvidence): number | null {
  const from = Math.max(one.logStartOffset, other.logStartOffset);
  const left = one.batches.filter(({ lastOffset }) => lastOffset >= from);
  const right = other.batches.filter(({ lastOffset }) => lastOffset >= from);
  for (let index = 0; index < Math.max(left.length, right.length); index++) {
    const a = left[index];
    const b = right[index];
    if (a === undefined || b === undefined || !isSameBatch(a, b)) return (a ?? b)!.baseOffset;
  }
  return null;
}

function isSameBatch(one: LoggedBatch, other: LoggedBatch): boolean {
  return (
    one.baseOffset === other.baseOffset &&
    one.producerId === other.producerId &&
    one.producerEpoch === other.producerEpoch &&
    one.baseSequence === other.baseSequence &&
    one.leaderEpoch === other.leaderEpoch &&
    one.values.join() === other.values.join()
  );
}

/**
 * What each replica remembers equals what its log says (M4): the same epoch and the same newest batch, and before it only batches
 * that the log has, in order. It may remember fewer (a restart narrows the window, expiry and retention drop entries), never others.
 */
export function checkNotebook(evidence: PartitionEvidence, violations: Violation[]): void {
  for (const replica of evidence.replicas) {
    const rebuilt = rebuildNotebook(replica.batches);
    const known = new Map(replica.notebook.map((entry) => [entry.producerId, entry]));
    const report = (producerId: bigint, problem: string): void => {
      violations.push({
        property: 'the notebook equals one rebuilt from the log',
        message: `${evidence.topic}-${evidence.partition}, broker ${replica.brokerId}, producer ${producerId}: ${problem}`,
      });
    };
    for (const [producerId, batches] of rebuilt) {
      const entry = known.get(producerId);
      if (entry === undefined) {
        if (!evidence.forgotten.has(producerId)) report(producerId, 'the log has batches, the notebook nothing');
      } else if (!remembers(entry, batches))
        report(producerId, `the notebook says ${show(entry)}, the log ${showBatches(batches)}`);
    }
    for (const entry of replica.notebook) {
      // Entries may outlive their records where records were deleted.
      if (
        !rebuilt.has(entry.producerId) &&
        entry.batches.some(({ lastOffset }) => lastOffset >= replica.logStartOffset)
      ) {
        report(entry.producerId, `the notebook says ${show(entry)}, the log has nothing`);
      }
    }
  }
}

/** The batches of each producer's newest epoch, oldest first. */
function rebuildNotebook(batches: readonly LoggedBatch[]): Map<bigint, LoggedBatch[]> {
  const rebuilt = new Map<bigint, LoggedBatch[]>();
  for (const batch of batches) {
    if (batch.producerId < 0n) continue;
    const known = rebuilt.get(batch.producerId);
    if (known === undefined || known[0]!.producerEpoch !== batch.producerEpoch) rebuilt.set(batch.producerId, [batch]);
    else known.push(batch);
  }
  return rebuilt;
}

const rememberedBatches = 5;

function remembers(entry: NotebookEntry, batches: readonly LoggedBatch[]): boolean {
  if (entry.epoch !== batches[0]!.producerEpoch) return false;
  if (entry.batches.length === 0 || entry.batches.length > rememberedBatches) return false;
  // Batches below the log start may be remembered still: those have nothing to be held against.
  const oldestLogged = batches[0]!.baseOffset;
  const comparable = entry.batches.filter(({ baseOffset }) => baseOffset >= oldestLogged);
  const logged = batches.slice(-comparable.length || batches.length);
  if (comparable.length === 0) return false;
  return comparable.every((remembered, index) => {
    const batch = logged[index]!;
    return (
      remembered.baseSequence === batch.baseSequence &&
      remembered.lastSequence === lastSequenceOf(batch) &&
      remembered.baseOffset === batch.baseOffset &&
      remembered.lastOffset === batch.lastOffset
    );
  });
}

function show({ epoch, batches }: NotebookEntry): string {
  return `epoch ${epoch} ${batches.map(({ baseSequence, lastSequence }) => `${baseSequence}-${lastSequence}`).join(' ')}`;
}

function showBatches(batches: readonly LoggedBatch[]): string {
  const numbers = batches.slice(-rememberedBatches).map((batch) => `${batch.baseSequence}-${lastSequenceOf(batch)}`);
  return `epoch ${batches[0]!.producerEpoch} ${numbers.join(' ')}`;
}
