import { onTestFinished } from 'vitest';
import type { ProducerEvent } from './observe/hooks.ts';
import type { ProducerOptions } from './options.ts';
import { createProducer, type Producer } from './producer.ts';
import { ScriptedTransport } from './scripted-transport.testkit.ts';
import { createSimulatedRuntime, type SimulatedRuntime } from './testing/index.ts';

/** What became of a promise, without waiting for it. */
export interface Outcome<T> {
  value?: T;
  error?: unknown;
}

export function watch<T>(promise: Promise<T>): Outcome<T> {
  const outcome: Outcome<T> = {};
  promise.then(
    (value) => {
      outcome.value = value;
    },
    (error: unknown) => {
      outcome.error = error;
    },
  );
  return outcome;
}

export interface Bench {
  readonly runtime: SimulatedRuntime;
  readonly transport: ScriptedTransport;
  readonly producer: Producer;
  readonly events: ProducerEvent[];
}

/** A producer on virtual time, in front of a transport that does what the test says. */
export async function bench(
  options: Partial<ProducerOptions> = {},
  transport: ScriptedTransport = new ScriptedTransport(),
): Promise<Bench> {
  const runtime = createSimulatedRuntime({ seed: 7 });
  const events: ProducerEvent[] = [];
  const creating = createProducer({
    transport,
    runtime,
    logger: { info: () => {}, warn: () => {} },
    ...options,
    hooks: { ...options.hooks, onEvent: options.hooks?.onEvent ?? ((event) => events.push(event)) },
  });
  await runtime.settle();
  const producer = await creating;
  onTestFinished(async () => {
    const closing = producer.close({ timeoutMs: 0 });
    await runtime.advance(1);
    await closing;
  });
  return { runtime, transport, producer, events };
}
