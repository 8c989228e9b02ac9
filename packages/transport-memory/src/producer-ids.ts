import type { Runtime } from '@sendonce/producer-core/transport';
import { type DelayRange, drawDelayMs } from './delay-line.ts';
import type { RecordEvent } from './events.ts';

export interface ProducerIdBlock {
  readonly firstId: bigint;
  readonly size: number;
}

/** Where brokers get their blocks of producer ids from. */
export interface ProducerIdBlockSource {
  /** Calls `granted` with a block that nobody else gets. It may take a while, and be lost when the controller restarts. */
  requestBlock(brokerId: number, granted: (block: ProducerIdBlock) => void, lost: () => void): void;
}

export interface ProducerIdControllerOptions {
  readonly firstId: bigint;
  readonly blockSize: number;
  readonly blockDelay: DelayRange;
  readonly runtime: Runtime;
  readonly record: RecordEvent;
}

/**
 * The controller's part of rule M1. What it has handed out is durable before a broker hears of it, so that no id is given
 * twice: one that was on its way when the controller restarted is never used.
 */
export class ProducerIdController implements ProducerIdBlockSource {
  readonly #options: ProducerIdControllerOptions;
  #blockDelay: DelayRange;
  /** Stands for the metadata log: survives a restart. */
  #nextId: bigint;
  #life = 0;

  constructor(options: ProducerIdControllerOptions) {
    this.#options = options;
    this.#blockDelay = options.blockDelay;
    this.#nextId = options.firstId;
  }

  requestBlock(brokerId: number, granted: (block: ProducerIdBlock) => void, lost: () => void): void {
    const { runtime, blockSize, record } = this.#options;
    const delayMs = drawDelayMs(this.#blockDelay, runtime);
    const block = { firstId: this.#nextId, size: blockSize };
    this.#nextId += BigInt(blockSize);
    const grant = (): void => {
      record({ type: 'producer-id-block', brokerId, ...block });
      granted(block);
    };
    if (delayMs <= 0) {
      grant();
      return;
    }
    const life = this.#life;
    runtime.schedule(delayMs, () => (life === this.#life ? grant() : lost()));
  }

  /** Until it is called again: how long a broker waits for a block. Null: as the cluster was made. */
  slowDown(blockDelay: DelayRange | null): void {
    this.#blockDelay = blockDelay ?? this.#options.blockDelay;
  }

  restart(): void {
    this.#life++;
    this.#options.record({ type: 'controller-restarted' });
  }
}

/** A broker's part of rule M1: it gives out the ids of its block, one after the other. */
export class ProducerIdAllocator {
  readonly #brokerId: number;
  readonly #source: ProducerIdBlockSource;
  #nextId = 0n;
  #left = 0;
  #isWaiting = false;
  #life = 0;

  constructor(brokerId: number, source: ProducerIdBlockSource) {
    this.#brokerId = brokerId;
    this.#source = source;
  }

  /** The next id; null while a block is on its way. */
  next(): bigint | null {
    if (this.#left === 0) this.#request();
    if (this.#left === 0) return null;
    this.#left--;
    return this.#nextId++;
  }

  /** What was left of the block is forgotten with the process. */
  restart(): void {
    this.#life++;
    this.#left = 0;
    this.#isWaiting = false;
  }

  #request(): void {
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    const life = this.#life;
    this.#source.requestBlock(
      this.#brokerId,
      ({ firstId, size }) => {
        if (life !== this.#life) return;
        this.#isWaiting = false;
        this.#nextId = firstId;
        this.#left = size;
      },
      () => {
        if (life === this.#life) this.#isWaiting = false;
      },
    );
  }
}
