import type { Evidence, FormerLife, PartitionEvidence, Violation } from './evidence.ts';
import { entryIdOf, type LedgerEntry } from './ledger.ts';
import { checkNotebook, checkReplicas } from './replica-checks.ts';

interface Place {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly life: number;
  readonly createdAtMs: number;
  readonly deletedAtMs: number;
}

/**
 * Holds what callers were told against what the logs hold. Shares no code with producer or broker: it knows values, offsets and
 * what a Kafka log looks like, and nothing of how the promise is kept.
 */
export function checkEvidence(evidence: Evidence): Violation[] {
  const violations: Violation[] = [...evidence.observed];
  const places = findRecords(evidence, violations);
  for (const entry of evidence.entries) {
    checkSettled(evidence, entry, violations);
    checkStored(evidence, entry, places[entry.id] ?? [], violations);
  }
  checkOrder(evidence, places, violations);
  if (evidence.topicIds) checkRecreations(evidence, places, violations);
  for (const former of evidence.formerLives) checkOffsets(former, violations);
  for (const partition of evidence.partitions) {
    checkReportedLoss(evidence, partition, places, violations);
    checkOffsets(partition, violations);
    checkReplicas(partition, violations);
    checkNotebook(partition, violations);
  }
  return violations;
}

/** Where each entry's record is or was stored: once in each life of its topic, it should be. */
function findRecords({ entries, formerLives, partitions }: Evidence, violations: Violation[]): (Place[] | undefined)[] {
  const places: (Place[] | undefined)[] = new Array(entries.length);
  const present = partitions.map((each) => ({ ...each, deletedAtMs: Number.POSITIVE_INFINITY }));
  for (const { batches, ...life } of [...formerLives, ...present]) {
    const { topic } = life;
    for (const { baseOffset, values } of batches) {
      for (const [index, value] of values.entries()) {
        const id = entryIdOf(value);
        const entry = entries[id];
        const place = { ...life, offset: baseOffset + index };
        if (entry === undefined || entry.value !== value || entry.topic !== topic) {
          violations.push({
            property: 'nothing is stored that was not sent',
            message: `${describePlace(place)} holds "${value.slice(0, 40)}"`,
          });
          continue;
        }
        const known = places[id];
        if (known === undefined) places[id] = [place];
        else known.push(place);
      }
    }
  }
  return places;
}

function checkSettled({ sessions }: Evidence, entry: LedgerEntry, violations: Violation[]): void {
  const { crashed, frozenUntilMs, settleWithinMs } = sessions[entry.session]!;
  if (entry.settles > 1) {
    violations.push({
      property: 'every send settles exactly once',
      message: `${describe(entry)} settled ${entry.settles} times`,
      entryId: entry.id,
    });
  }
  if (entry.settles === 0 && !crashed) {
    violations.push({
      property: 'every send settles exactly once',
      message: `${describe(entry)} never settled`,
      entryId: entry.id,
    });
  }
  // Whether or not anything answers. A process that was frozen has all its time before it again: its timers can only have begun late.
  const dueAtMs = Math.max(frozenUntilMs, entry.sentAtMs) + settleWithinMs;
  if (entry.settledAtMs > dueAtMs) {
    violations.push({
      property: 'every send settles within its time',
      message: `${describe(entry)} settled ${Math.round(entry.settledAtMs - dueAtMs)} ms too late, at ${entry.settledAtMs} ms`,
      entryId: entry.id,
    });
  }
}

function checkStored(evidence: Evidence, entry: LedgerEntry, places: readonly Place[], violations: Violation[]): void {
  const { outcome } = entry;
  const report = (property: string, problem: string): void => {
    const stored = places.length === 0 ? 'nowhere' : places.map(describePlace).join(' and ');
    violations.push({ property, message: `${describe(entry)} ${problem}; stored at ${stored}`, entryId: entry.id });
  };
  const { idempotence } = evidence.sessions[entry.session]!;
  const lives = places.filter((place) => !isUnguarded(evidence, entry, place)).map(({ life }) => life);
  if (idempotence && new Set(lives).size < lives.length) report('nothing is stored twice', 'is stored more than once');
  if (outcome === null) return;
  if (outcome.kind === 'failed') {
    const isThere = (place: Place): boolean =>
      !mayHaveComeBack(evidence, place) && !mayBeForgotten(evidence, entry, place);
    if (outcome.fate === 'not-stored' && places.some(isThere)) {
      report('failed as not stored means absent', `failed as not stored (${outcome.code})`);
    }
    return;
  }
  if (places.length === 0) {
    // What an unclean election lost is counted per partition.
    if (evidence.mode === 'clean' || (evidence.mode === 'by-name' && outcome.offset >= 0))
      report('acknowledged means stored', 'was acknowledged');
    return;
  }
  const cameBack = places.some(({ createdAtMs }) => createdAtMs > entry.settledAtMs);
  if (evidence.topicIds && cameBack) {
    report('what was acknowledged is not sent to the topic made again', `was acknowledged at ${entry.settledAtMs} ms`);
  }
  if (outcome.offset < 0) return;
  const isThere = places.some(({ partition, offset }) => partition === outcome.partition && offset === outcome.offset);
  if (!isThere && evidence.mode !== 'unclean') {
    report(
      'acknowledged means stored at the offset of the answer',
      `was acknowledged at ${outcome.partition}:${outcome.offset}`,
    );
  }
}

/** A leader that did not have the record said so truly; then a replica that had it was elected, uncleanly again, and its log is the log. */
function mayHaveComeBack({ mode, partitions }: Evidence, place: Place): boolean {
  if (mode !== 'unclean') return false;
  return partitions.some(
    ({ topic, partition, uncleanElections }) =>
      topic === place.topic && partition === place.partition && uncleanElections > 0,
  );
}

/** Where nothing says that another topic has taken the name, what is said about a record is said of the log that is there. */
function mayBeForgotten({ topicIds }: Evidence, { settledAtMs }: LedgerEntry, { deletedAtMs }: Place): boolean {
  return !topicIds && deletedAtMs <= settledAtMs;
}

/** Acknowledged records of one session and one partition lie in the order of the calls, in each life of the topic. */
function checkOrder(
  evidence: Evidence,
  places: readonly (readonly Place[] | undefined)[],
  violations: Violation[],
): void {
  const { entries, sessions } = evidence;
  const newest = new Map<string, { entry: LedgerEntry; offset: number }>();
  for (const entry of entries) {
    if (entry.outcome?.kind !== 'acknowledged' || !sessions[entry.session]!.idempotence) continue;
    const seen = new Set<string>();
    for (const place of places[entry.id] ?? []) {
      const key = `${entry.session} ${place.topic} ${place.partition} ${place.life}`;
      // That it is stored twice is told elsewhere.
      if (seen.has(key) || isUnguarded(evidence, entry, place)) continue;
      seen.add(key);
      const before = newest.get(key);
      if (before !== undefined && before.offset > place.offset) {
        violations.push({
          property: 'acknowledged records are stored in send order',
          message: `${describe(entry)} is stored at ${describePlace(place)}, before ${describe(before.entry)} at offset ${before.offset}, which was sent earlier`,
          entryId: entry.id,
        });
        continue;
      }
      newest.set(key, { entry, offset: place.offset });
    }
  }
}

/**
 * Where requests name topics, what is on its way when one is deleted gets into the next one, in any order and perhaps twice. That ends
 * when the producer hears of it.
 */
function isUnguarded({ mode, sessions }: Evidence, { id, session, topic }: LedgerEntry, { life }: Place): boolean {
  if (mode !== 'by-name' || life === 1) return false;
  const heard = sessions[session]!.recreations.get(topic) ?? [];
  return !heard.some((recreation) => life <= recreation.life && recreation.nextEntryId <= id);
}

/** A producer whose records were acknowledged in two lives of a topic has said that it was made again. */
function checkRecreations(
  { entries, sessions }: Evidence,
  places: readonly (readonly Place[] | undefined)[],
  violations: Violation[],
): void {
  const lives = new Map<string, Set<number>>();
  for (const { id, session, topic, outcome } of entries) {
    const [place, other] = places[id] ?? [];
    if (outcome?.kind !== 'acknowledged' || place === undefined || other !== undefined) continue;
    const key = `${session} ${topic}`;
    lives.set(key, (lives.get(key) ?? new Set()).add(place.life));
  }
  for (const [key, { size }] of lives) {
    const [session, topic] = key.split(' ') as [string, string];
    const told = sessions[Number(session)]!.recreations.get(topic)?.length ?? 0;
    if (told >= size - 1) continue;
    violations.push({
      property: 'a producer that goes on in a topic made again says so',
      message: `session ${session} had records acknowledged in ${size} lives of ${topic}, and said ${told} times that it was made again`,
    });
  }
}

/** What an unclean election lost, the cluster must have reported. */
function checkReportedLoss(
  { entries, mode }: Evidence,
  { topic, partition, reportedLost }: PartitionEvidence,
  places: readonly (readonly Place[] | undefined)[],
  violations: Violation[],
): void {
  if (mode !== 'unclean') return;
  const missing = entries.filter(
    ({ id, topic: sentTo, outcome }) =>
      sentTo === topic &&
      outcome?.kind === 'acknowledged' &&
      outcome.partition === partition &&
      places[id] === undefined,
  );
  if (missing.length > reportedLost) {
    violations.push({
      property: 'what an unclean election lost is reported',
      message: `${topic}-${partition}: ${missing.length} acknowledged records are missing, and the cluster reported ${reportedLost}`,
    });
  }
}

function checkOffsets({ topic, partition, batches }: PartitionEvidence | FormerLife, violations: Violation[]): void {
  let expected = batches[0]?.baseOffset ?? 0;
  for (const { baseOffset, lastOffset, recordCount } of batches) {
    if (baseOffset !== expected || lastOffset !== baseOffset + recordCount - 1) {
      violations.push({
        property: 'offsets have neither gap nor overlap',
        message: `${topic}-${partition}: a batch of ${recordCount} at ${baseOffset} to ${lastOffset}, where ${expected} comes next`,
      });
    }
    expected = lastOffset + 1;
  }
}

function describe({ id, session }: LedgerEntry): string {
  return `record ${id} of session ${session}`;
}

function describePlace({ topic, partition, offset, life }: Place): string {
  return `${topic}-${partition}:${offset}${life === 1 ? '' : ` (life ${life})`}`;
}
