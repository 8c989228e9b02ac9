import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createProducer } from '@sendonce/producer-core';
import { createKafkaTransport } from '@sendonce/transport-kafka';
import { paymentRecord } from '../system/payment.ts';
import { type ComparedBooks, compareBooks } from './books.ts';
import { Clients } from './clients.ts';
import { openScene, type Scene } from './scene.ts';
import type { Measure, ServiceProcess } from './service-process.ts';
import { troublesOf } from './troubles.ts';
import { handlesMax } from './verdict.ts';

export interface SoakOptions {
  /** How long payments and trouble go on, at least one round of it; starting and reconciling come on top. */
  readonly durationMs: number;
  readonly paymentsPerSecond: number;
  readonly say: (line: string) => void;
  /** Ends the trouble early: what was accepted by then is reconciled. Before the first payment it rejects with {@link SoakStoppedError}. */
  readonly signal?: AbortSignal;
}

/** Stopped before there was anything to reconcile. Some of its services may be starting: they end with this process. */
export class SoakStoppedError extends Error {
  override readonly name = 'SoakStoppedError';
}

export interface TroubleReport {
  readonly name: string;
  readonly tookMs: number;
  /** The longest time in which nothing was accepted. */
  readonly longestGapMs: number;
}

export interface ProcessMeasures {
  readonly name: string;
  /** In the middle of the work, when both processes have been killed once. */
  readonly before: Measure;
  /** After the last payment. */
  readonly after: Measure;
}

export interface SoakReport extends ComparedBooks {
  readonly payments: number;
  readonly requests: number;
  readonly setbacks: number;
  /** Accepted payments that another application stored a second time. */
  readonly resent: number;
  readonly complaints: readonly string[];
  readonly troubles: readonly TroubleReport[];
  readonly measures: readonly ProcessMeasures[];
}

const calmMs = 2_000;
/** No trouble is begun that would not be over in time. */
const longestTroubleMs = 15_000;
const restMaxMs = 20_000;
const restPollMs = 500;
/** The turn after which both processes have been killed. */
const measuredAfterTurn = 1;

/** Payments at a steady rate on real services, while each part is killed in turn. Resolves when all is calm again and the books are compared. */
export async function soak(options: SoakOptions): Promise<SoakReport> {
  const { paymentsPerSecond, say } = options;
  say('starting three brokers, Postgres and Redis');
  await using scene = await openedUnlessStopped(options.signal);
  await using other = await createProducer({
    transport: createKafkaTransport({ brokers: scene.kafka.bootstrap, clientId: 'soak' }),
    clientId: 'soak',
  });
  const run = `soak-${randomBytes(3).toString('hex')}`;
  const clients = new Clients(scene.api.url, run, (payment, key) => other.send(paymentRecord(payment, key)));
  const paying = clients.begin(paymentsPerSecond);
  const { troubles, before } = await causeTroubles(scene, clients, options);
  say('calm: waiting for the last answers');
  await Promise.all([clients.finish(), paying]);
  say('everybody was told: comparing the books');
  const compared = await compareBooks(scene, clients.accepted);
  const measures = await Promise.all(
    [...before].map(async ([process, measure]) => ({
      name: process.name,
      before: measure,
      after: await measureAtRest(process),
    })),
  );
  const { payments, resent, complaints } = clients;
  return {
    ...compared,
    payments: payments.length,
    requests: payments.reduce((sum, { requests }) => sum + requests, 0),
    setbacks: payments.reduce((sum, { setbacks }) => sum + setbacks, 0),
    resent,
    complaints,
    troubles,
    measures,
  };
}

async function openedUnlessStopped(signal: AbortSignal | undefined): Promise<Scene> {
  const stopped = new Promise<never>((_, reject) => {
    const stop = (): void => reject(new SoakStoppedError('Stopped before the first payment.'));
    if (signal?.aborted) stop();
    else signal?.addEventListener('abort', stop, { once: true });
  });
  return Promise.race([openScene(), stopped]);
}

/** Connections that clients keep alive end some seconds after their last request; what has leaked stays. */
async function measureAtRest(process: ServiceProcess): Promise<Measure> {
  const deadlineMs = performance.now() + restMaxMs;
  for (;;) {
    const measure = await process.measure();
    if (measure.handles <= handlesMax || performance.now() > deadlineMs) return measure;
    await sleep(restPollMs);
  }
}

async function causeTroubles(
  scene: Scene,
  clients: Clients,
  { durationMs, say, signal }: SoakOptions,
): Promise<{ troubles: TroubleReport[]; before: Map<ServiceProcess, Measure> }> {
  const processes = [scene.api, scene.consumers];
  const pause = pauseUnlessStopped(signal);
  const inTurn = troublesOf(scene, pause);
  const troubles: TroubleReport[] = [];
  const before = new Map<ServiceProcess, Measure>();
  const endMs = performance.now() + durationMs;
  const isTimeFor = (turn: number): boolean =>
    turn < inTurn.length || endMs - performance.now() > calmMs + longestTroubleMs;
  for (let turn = 0; isTimeFor(turn); turn++) {
    await pause(calmMs);
    if (signal?.aborted) break;
    clients.takeLongestGapMs();
    const { name, cause } = inTurn[turn % inTurn.length]!;
    const startMs = performance.now();
    await cause();
    for (const each of processes) await each.start();
    const report = { name, tookMs: performance.now() - startMs, longestGapMs: clients.takeLongestGapMs() };
    troubles.push(report);
    say(
      `${name}: over after ${seconds(report.tookMs)}, nothing accepted for ${seconds(report.longestGapMs)} at most; ${clients.accepted.length} payments accepted so far`,
    );
    if (turn === measuredAfterTurn) for (const each of processes) before.set(each, await each.measure());
  }
  await pause(Math.max(0, endMs - performance.now()));
  return { troubles, before };
}

/** Waits; not when it was stopped, and no longer than until then. */
function pauseUnlessStopped(signal: AbortSignal | undefined): (durationMs: number) => Promise<void> {
  return async (durationMs) => {
    try {
      await sleep(durationMs, undefined, signal === undefined ? {} : { signal });
    } catch (error) {
      if (!signal?.aborted) throw error;
    }
  };
}

function seconds(durationMs: number): string {
  return `${(durationMs / 1_000).toFixed(1)} s`;
}
