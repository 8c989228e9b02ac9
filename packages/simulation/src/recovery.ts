import type { ProducerSession } from './session.ts';
import type { Workload } from './workload.ts';
import { pause, type World } from './world.ts';

/**
 * After the last fault: everything that is pending settles in time, a producer that is still there sends again at once, and when
 * it is done it holds nothing.
 */
export async function finishSessions(world: World, workloads: readonly Workload[]): Promise<void> {
  const longestMs = Math.max(...world.ledger.sessions.map(({ settleWithinMs }) => settleWithinMs));
  const untilMs = world.runtime.monotonicMs() + longestMs;
  while (world.ledger.pending > 0 && world.runtime.monotonicMs() < untilMs) await pause(world, 20);
  const sessions = workloads.flatMap(({ session }) => (session === null || session.process.isKilled ? [] : [session]));
  await Promise.all(sessions.map((session) => finish(world, session)));
}

async function finish(world: World, session: ProducerSession): Promise<void> {
  if (!session.isOver) {
    await probe(world, session);
    await probeGone(world, session);
    await endsInTime(world, 'flush', session, session.producer.flush());
    await quiesce(world, session);
    checkIdle(world, session, 'once everything is settled a producer holds no memory and waits for nothing');
  }
  world.coverage.add(`state: ${session.producer.state}`);
  await endsInTime(world, 'close', session, session.close());
  world.coverage.add(`state: ${session.producer.state}`);
  checkIdle(world, session, 'a closed producer holds nothing');
}

/**
 * Once the faults are over, a send to any partition is acknowledged. Not always the first one: a producer that was away long may
 * have to hear of a new leader and to find out that it was forgotten, and have little time to do it in.
 */
const probesMax = 3;

async function probe(world: World, session: ProducerSession): Promise<void> {
  for (const name of world.topics.names) {
    for (let partition = 0; partition < world.topics.partitionsOf(name); partition++) {
      const failures: string[] = [];
      while (failures.length < probesMax) {
        const failure = await probeOnce(world, session, name, partition);
        if (failure === null) break;
        failures.push(failure);
        await pause(world, 2 * session.plan.retryBackoffMaxMs);
      }
      if (failures.length < probesMax) continue;
      world.report({
        property: 'once the faults are over sends are acknowledged',
        message: `${session.name}, ${name}-${partition}: ${failures.join(', ')}`,
      });
    }
  }
}

/** A record for a topic that is gone fails, and holds up no other meanwhile. */
async function probeGone(world: World, session: ProducerSession): Promise<void> {
  const [there] = world.topics.names;
  for (const { name } of world.plan.cluster.topics) {
    if (there === undefined || world.topics.partitionsOf(name) > 0) continue;
    const gone = probeOnce(world, session, name, 0);
    const sentAtMs = world.runtime.monotonicMs();
    const failure = await probeOnce(world, session, there, 0);
    const tookMs = world.runtime.monotonicMs() - sentAtMs;
    if (failure !== null || tookMs > session.plan.requestTimeoutMs) {
      world.report({
        property: 'a topic that is gone holds up no other',
        message: `${session.name}, ${there}-0: ${failure ?? 'acknowledged'} after ${tookMs} ms`,
      });
    }
    if ((await gone) !== null) continue;
    world.report({
      property: 'what is sent to a topic that is gone is not acknowledged',
      message: `${session.name}, ${name}: acknowledged`,
    });
  }
}

/** What went wrong; null when the record was acknowledged. */
async function probeOnce(
  world: World,
  session: ProducerSession,
  topic: string,
  partition: number,
): Promise<string | null> {
  const entry = world.ledger.open(session.session, topic, 10);
  session.send({ topic, partition, value: entry.value }, entry);
  const untilMs = world.runtime.monotonicMs() + session.session.settleWithinMs;
  while (entry.settles === 0 && world.runtime.monotonicMs() < untilMs) await pause(world, 10);
  if (entry.outcome?.kind === 'acknowledged') return null;
  return entry.outcome === null
    ? `record ${entry.id} did not settle`
    : `record ${entry.id} failed (${entry.outcome.code})`;
}

async function endsInTime(
  world: World,
  what: string,
  { name, session }: ProducerSession,
  end: Promise<void>,
): Promise<void> {
  const late = Symbol('late');
  const winner = await Promise.race([end, pause(world, session.settleWithinMs).then(() => late)]);
  if (winner === late)
    world.report({ property: 'flush and close end in time', message: `${name}: ${what} goes on and on` });
}

/** Requests whose callers were told already may still wait for their answers. */
async function quiesce(world: World, session: ProducerSession): Promise<void> {
  const untilMs = world.runtime.monotonicMs() + 2 * session.plan.requestTimeoutMs + 100;
  while (session.producer.stats().requestsInFlight > 0 && world.runtime.monotonicMs() < untilMs) await pause(world, 20);
}

function checkIdle(world: World, session: ProducerSession, property: string): void {
  const { pendingRecords, bufferUsedBytes, requestsInFlight } = session.producer.stats();
  if (pendingRecords === 0 && bufferUsedBytes === 0 && requestsInFlight === 0) return;
  world.report({
    property,
    message: `${session.name}: ${pendingRecords} records, ${bufferUsedBytes} bytes, ${requestsInFlight} requests`,
  });
}
