import type { DedupHooks, MessageWatch } from './hooks.ts';
import type { ConsumedMessage, MessageSource } from './message.ts';

/** Shows the messages of a call to the hook; what it returns for each, or nothing at all where there is no hook. */
export function watchMessages(
  hooks: DedupHooks,
  messages: readonly ConsumedMessage[],
  sourceAt: (index: number) => MessageSource,
): readonly (MessageWatch | undefined)[] | null {
  if (hooks.onMessage === undefined) return null;
  return messages.map((message, index) => guarded(() => hooks.onMessage!(message, sourceAt(index))) ?? undefined);
}

const NOTE = /^[\x20-\x7e]{1,256}$/;

/** What a watch wants to be kept with its message's claim, if that is something every store can keep. */
export function noteOf(watch: MessageWatch | undefined): string | null {
  const note: unknown = guarded(() => watch?.note);
  return typeof note === 'string' && NOTE.test(note) ? note : null;
}

/** Does the work in the surroundings that a hook wants for it. Whatever the hook does, the work is done once. */
export function runWatched<T>(watch: MessageWatch | undefined, work: () => Promise<T>): Promise<T> {
  let running: Promise<T> | undefined;
  const start = (): void => {
    running ??= work();
  };
  guarded(() => watch?.run?.(start));
  start();
  return running!;
}

/** A failing hook never fails processing; an async one's rejection must not become an unhandled one. */
function guarded<T>(call: () => T): T | undefined {
  try {
    const returned = call();
    if (!(returned instanceof Promise)) return returned;
    returned.catch(() => undefined);
  } catch {
    // Dropped: see DedupHooks.
  }
  return undefined;
}
