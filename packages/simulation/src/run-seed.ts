import type { ProducerHooks } from '@sendonce/producer-core';
import { createSimulatedRuntime } from '@sendonce/producer-core/testing';
import { type ClusterEvent, createMemoryCluster } from '@sendonce/transport-memory';
import { checkEvidence } from './checker.ts';
import { Coverage } from './coverage.ts';
import type { Violation } from './evidence.ts';
import { FaultInjector, fatalAnswers, replyDelayMaxMs } from './fault-injector.ts';
import { Ledger, type Session } from './ledger.ts';
import { type Focus, type Mode, type Plan, planOf } from './plan.ts';
import { finishSessions } from './recovery.ts';
import { TopicLives } from './topic-lives.ts';
import { Trace } from './trace.ts';
import { traceCluster } from './trace-cluster.ts';
import { Workload } from './workload.ts';
import { pause, type World } from './world.ts';

export interface RunSeedOptions {
  readonly seed: number;
  readonly mode?: Mode;
  readonly focus?: Focus;
  /** Keep the story of the run. */
  readonly traced?: boolean;
  readonly watch?: SeedWatch;
}

/** Looks on while a seed runs, by producers' hooks, and tells what it found wrong. Changes nothing of the run. */
export interface SeedWatch {
  /** A producer is about to be created. */
  hooksFor(session: Session): ProducerHooks;
  /** The run has come to its end. */
  violations(): readonly Violation[];
}

export interface SeedResult {
  readonly seed: number;
  readonly plan: Plan;
  readonly violations: readonly Violation[];
  readonly coverage: Coverage;
  readonly trace: readonly string[];
  readonly steps: number;
  readonly records: number;
}

/** More than any run needs: who comes here spins. */
const stepsMax = 150_000;

/** Runs one seed from its plan to the checker's verdict. */
export async function runSeed({
  seed,
  mode = 'clean',
  focus = {},
  traced = false,
  watch,
}: RunSeedOptions): Promise<SeedResult> {
  const plan = planOf(seed, mode, focus);
  const world = createWorld(plan, traced, watch);
  const { coverage, runtime, trace } = world;
  const unhandled = (reason: unknown): void =>
    world.report({ property: 'no rejection is left unhandled', message: describeError(reason) });
  process.on('unhandledRejection', unhandled);
  let violations: readonly Violation[];
  try {
    violations = await runPlan(world);
  } catch (error) {
    violations = [...world.violations, { property: 'the run comes to its end', message: describeError(error) }];
  } finally {
    // One more turn, for what Node reports only then.
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', unhandled);
  }
  violations = [...violations, ...(watch?.violations() ?? [])];
  for (const { property, message } of violations) trace.note('VIOLATION', () => `${property}: ${message}`);
  coverage.add('runs');
  coverage.add(`runs: profile ${plan.cluster.profile}`);
  const records = world.ledger.entries.length;
  return { seed, plan, violations, coverage, trace: trace.lines, steps: runtime.steps, records };
}

type SeedWorld = World & { readonly violations: Violation[] };

const testifying: ReadonlySet<ClusterEvent['type']> = new Set([
  'error-injected',
  'producer-forgotten',
  'unclean-election',
]);

function createWorld(plan: Plan, traced: boolean, watch: SeedWatch | undefined): SeedWorld {
  const runtime = createSimulatedRuntime({ seed: plan.seed });
  const coverage = new Coverage();
  const trace = new Trace(traced, () => runtime.monotonicMs());
  const { topics, ...cluster } = plan.cluster;
  const violations: Violation[] = [];
  const testimony: ClusterEvent[] = [];
  const memoryCluster = createMemoryCluster({
    ...cluster,
    runtime: runtime.fork('cluster'),
    topics: Object.fromEntries(topics.map(({ name, ...topic }) => [name, topic])),
  });
  memoryCluster.onEvent((event) => {
    if (testifying.has(event.type)) testimony.push(event);
  });
  const parts: Omit<SeedWorld, 'topics'> = {
    plan,
    runtime,
    cluster: memoryCluster,
    testimony,
    ledger: new Ledger(
      () => runtime.monotonicMs(),
      ({ id, session, outcome }) => {
        const what =
          outcome!.kind === 'acknowledged'
            ? `acknowledged${outcome!.offset < 0 ? ', offset unknown' : ''}`
            : `${outcome!.fate} (${outcome!.code})`;
        coverage.add(`outcome: ${what}`);
        trace.note(`session ${session}`, () =>
          outcome!.kind === 'acknowledged'
            ? `record ${id} acknowledged at ${outcome!.partition}:${outcome!.offset}`
            : `record ${id} failed, ${what}`,
        );
      },
    ),
    coverage,
    trace,
    hooksFor: (session) => watch?.hooksFor(session) ?? {},
    violations,
    report: (violation) => violations.push(violation),
  };
  const world: SeedWorld = { ...parts, topics: new TopicLives(parts) };
  if (traced) traceCluster(world);
  return world;
}

async function runPlan(world: SeedWorld): Promise<readonly Violation[]> {
  const { plan, runtime, cluster, ledger, coverage } = world;
  const injector = new FaultInjector(world);
  injector.start();
  const workloads = plan.workloads.map((workload, index) => new Workload(world, workload, index));
  const working = Promise.all(workloads.map((workload) => workload.run(plan.durationMs)));
  await runtime.runUntilSettled(
    (async () => {
      await working;
      await heal(world, injector, workloads);
    })(),
    { maxSteps: stepsMax },
  );
  world.trace.note('heal', () => 'no more faults from here on');
  await runtime.runUntilSettled(finishSessions(world, workloads), { maxSteps: stepsMax });
  // Replicas that came back late catch up, and requests that outlived their connections arrive.
  await runtime.run({ untilMs: runtime.monotonicMs() + 5000, maxSteps: stepsMax });
  checkEvents(world);
  for (const [type, count] of Object.entries(cluster.eventCounts)) coverage.add(`cluster: ${type}`, count);
  return checkEvidence({
    mode: plan.mode,
    entries: ledger.entries,
    sessions: ledger.sessions,
    ...world.topics.evidence(),
    topicIds: plan.cluster.topicIds,
    observed: world.violations,
  });
}

/** Ends the faults, and waits until those that struck before have taken their course. */
async function heal(world: World, injector: FaultInjector, workloads: readonly Workload[]): Promise<void> {
  injector.stop();
  const frozenMs = Math.max(0, ...workloads.map(({ frozenUntilMs }) => frozenUntilMs)) - world.runtime.monotonicMs();
  await pause(
    world,
    Math.max(frozenMs, replyDelayMaxMs, ...world.plan.workloads.map(({ producer }) => producer.requestTimeoutMs)),
  );
  injector.mend();
}

/** What a producer says of itself must be true: nobody fenced it but a broker, and nothing is lost in a clean run. */
function checkEvents({ plan, testimony, coverage, ledger, topics, report }: World): void {
  const fatal: readonly number[] = fatalAnswers;
  const wasFenced = testimony.some((event) => event.type === 'error-injected' && fatal.includes(event.errorCode));
  if (coverage.counts.has('event: fatal') && !wasFenced) {
    report({ property: 'a producer stops only when it was fenced', message: 'the event "fatal" without a cause' });
  }
  for (const { id, recreations, suspected } of ledger.sessions) {
    for (const [topic, { length: times }] of recreations) {
      if (times < topics.livesOf(topic)) continue;
      report({
        property: 'a topic is said to be made again only when it was',
        message: `session ${id} said so of ${topic} ${times} times`,
      });
    }
    for (const topic of suspected) {
      // Where requests don't say for which of a topic's lives they are, the loss of one shows before its end does.
      const explained = plan.mode === 'unclean' || (!plan.cluster.topicIds && topics.livesOf(topic) > 1);
      if (explained) continue;
      report({
        property: 'no loss is reported where nothing was lost',
        message: `session ${id} suspects one of ${topic}`,
      });
    }
  }
}

function describeError(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
