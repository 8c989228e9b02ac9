import { appendFileSync } from 'node:fs';
import { combineHooks, type ProducerHooks } from '@sendonce/producer-core';

/** Writes down what happened when, to find out why. */
export class Trace {
  readonly #file: string;
  readonly #startedMs = performance.now();

  constructor(file: string) {
    this.#file = file;
  }

  note(text: string): void {
    const seconds = ((performance.now() - this.#startedMs) / 1000).toFixed(3);
    appendFileSync(this.#file, `${seconds} ${text}\n`);
  }

  /** What sendonce did. */
  get hooks(): ProducerHooks {
    return {
      onAttemptStarted: ({ batch, number, brokerId }) =>
        this.note(`p${batch.partition} e${batch.epoch} s${batch.baseSequence} attempt ${number} to broker ${brokerId}`),
      onAttemptEnded: ({ batch, number }, { action, errorName, error }) => {
        const why = errorName === null ? '' : ` ${errorName}: ${error?.message ?? ''}`;
        this.note(`p${batch.partition} e${batch.epoch} s${batch.baseSequence} attempt ${number} ${action}${why}`);
      },
      onEvent: (event) => this.note(`event ${JSON.stringify(event, (_, value) => textOf(value))}`),
    };
  }
}

const textOf = (value: unknown): unknown => {
  if (typeof value === 'bigint') return `${value}`;
  return value instanceof Error ? value.message : value;
};

export function joinHooks(
  first: ProducerHooks | undefined,
  second: ProducerHooks | undefined,
): ProducerHooks | undefined {
  return first && second ? combineHooks(first, second) : (first ?? second);
}
