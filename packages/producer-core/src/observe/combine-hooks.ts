import { checkHeaders, type ProducerRecord } from '../record.ts';
import { hookNames, type ProducerHooks, type ProducerInfo, type RecordWatch } from './hooks.ts';
import { callAll, joinWatches } from './join-watches.ts';

type AnyHook = (...args: never[]) => unknown;

/**
 * One set of hooks that calls several, in the order given: `hooks: combineHooks(telemetry.producerHooks, channelHooks())`.
 *
 * Each hears everything, also when another throws. Headers add up: a later `onRecord` is shown the record with the headers that an earlier
 * one asked for.
 */
export function combineHooks(...all: readonly ProducerHooks[]): ProducerHooks {
  const combined: Partial<Record<keyof ProducerHooks, AnyHook>> = {};
  for (const name of hookNames) {
    const present = all.filter((hooks) => hooks[name] !== undefined);
    if (present.length === 0) continue;
    combined[name] =
      name === 'onRecord'
        ? (record: ProducerRecord, producer: ProducerInfo) => watchByAll(present, record, producer)
        : (...args: never[]) => callAll(present.map((hooks) => () => (hooks[name] as AnyHook)(...args)));
  }
  return combined as ProducerHooks;
}

function watchByAll(
  all: readonly ProducerHooks[],
  record: ProducerRecord,
  producer: ProducerInfo,
): RecordWatch | undefined {
  const watches: RecordWatch[] = [];
  let { headers } = record;
  for (const hooks of all) {
    try {
      const seen = headers === record.headers ? record : { ...record, headers };
      const watch = hooks.onRecord!(seen, producer);
      if (watch === undefined) continue;
      watches.push(watch);
      if (watch.headers !== undefined) checkHeaders(watch.headers);
      headers = watch.headers ?? headers;
    } catch (error) {
      // The others have watches that must hear how it ends, so the error is thrown where it loses nothing.
      watches.push({
        onSettled: () => {
          throw error;
        },
      });
    }
  }
  return joinWatches(watches, headers === record.headers ? undefined : headers);
}
