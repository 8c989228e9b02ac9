import { registerHooks } from 'node:module';

/**
 * Loaded before a worker: its producer is the same code without what an absent hook could cost, so that the cost can be measured. Throws when the
 * code has changed so much that a call is not where it was, rather than measure something else.
 */
const edits: Readonly<Record<string, readonly (readonly [from: string, to: string])[]>> = {
  'producer.ts': [['if (this.#observer.watchesRecords)', 'if (false)']],
  'sender/sender.ts': [
    ['this.#ports.observer.batchDrained(batch);', ''],
    ['this.#ports.observer.attemptStarted(attempt);', ''],
  ],
  'sender/attempt-outcomes.ts': [['if (observer.watchesAttempts)', 'if (false)']],
  'sender/settlement.ts': [['if (!observer.watchesBatches) return;', 'return;']],
};

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    const file = /\/producer-core\/src\/(.*)$/.exec(url)?.[1];
    const changes = file === undefined ? undefined : edits[file];
    if (changes === undefined) return loaded;
    let source = String(loaded.source);
    for (const [from, to] of changes) {
      if (!source.includes(from)) throw new Error(`${file} has no “${from}” any more: mend bench/otel`);
      source = source.replaceAll(from, to);
    }
    return { ...loaded, source };
  },
});
