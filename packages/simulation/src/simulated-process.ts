import type { Runtime, TimerHandle, Transport } from '@sendonce/producer-core/transport';

/**
 * A process that can be frozen and killed: timers and answers reach it only while it runs. It stands between one producer and
 * the world, as the operating system does.
 */
export class SimulatedProcess {
  readonly runtime: Runtime;
  readonly #world: Runtime;
  #state: 'running' | 'frozen' | 'killed' = 'running';
  #held: (() => void)[] = [];

  constructor(world: Runtime) {
    this.#world = world;
    this.runtime = {
      monotonicMs: () => world.monotonicMs(),
      wallClockMs: () => world.wallClockMs(),
      schedule: (delayMs, callback) => world.schedule(delayMs, () => this.#deliver(callback)),
      cancel: (timer: TimerHandle) => world.cancel(timer),
      endOfTurn: (callback) => world.endOfTurn(() => this.#deliver(callback)),
      random: () => world.random(),
    };
  }

  get isKilled(): boolean {
    return this.#state === 'killed';
  }

  /** Stops the process for a time, as a long garbage collection or SIGSTOP does. What was due meanwhile happens afterwards. */
  freeze(durationMs: number): void {
    if (this.#state !== 'running') return;
    this.#state = 'frozen';
    this.#world.schedule(durationMs, () => this.#thaw());
  }

  /** Ends the process: nothing it waited for will reach it. */
  kill(): void {
    this.#state = 'killed';
    this.#held = [];
  }

  /** The transport as code in this process sees it. */
  wrap(transport: Transport): Transport {
    return {
      connect: (signal) => this.#gate(transport.connect(signal)),
      close: () => this.#gate(transport.close()),
      metadata: (topics) => this.#gate(transport.metadata(topics)),
      initProducerId: () => this.#gate(transport.initProducerId()),
      produce: (brokerId, request) => this.#gate(transport.produce(brokerId, request)),
    };
  }

  #gate<T>(promise: Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      promise.then(
        (value) => this.#deliver(() => resolve(value)),
        (error: unknown) => this.#deliver(() => reject(error)),
      );
    });
  }

  #deliver(callback: () => void): void {
    if (this.#state === 'running') callback();
    else if (this.#state === 'frozen') this.#held.push(callback);
  }

  // One event-loop turn each, as Node does it: what one of them makes due comes after those that wait already.
  #thaw(): void {
    if (this.#state !== 'frozen') return;
    this.#state = 'running';
    const held = this.#held;
    this.#held = [];
    const next = (): void => {
      const callback = held.shift();
      if (callback === undefined || this.#state === 'killed') return;
      if (this.#state === 'frozen') {
        this.#held.unshift(callback, ...held);
        return;
      }
      callback();
      if (held.length > 0) this.#world.endOfTurn(next);
    };
    next();
  }
}
