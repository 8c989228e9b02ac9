import { type Channel, channel } from 'node:diagnostics_channel';
import type { ProducerRecord } from '../record.ts';
import type { ProducerHooks, ProducerInfo, RecordWatch } from './hooks.ts';
import { joinWatches } from './join-watches.ts';

/** What is published on `sendonce:producer:record`. A subscriber that wants to go on with the record adds a watch. */
export interface RecordMessage {
  readonly record: ProducerRecord;
  readonly producer: ProducerInfo;
  readonly watches: RecordWatch[];
}

/**
 * Publishes each hook on a `diagnostics_channel`, for tools that subscribe to channels: `hooks: channelHooks()`. The message is an object with
 * the hook's arguments by name.
 *
 * | channel | message |
 * | --- | --- |
 * | `sendonce:producer:started`, `:closed` | `{ producer }` |
 * | `sendonce:producer:id-requested` | `{ request }` |
 * | `sendonce:producer:id-answered` | `{ request, outcome }` |
 * | `sendonce:producer:record` | {@link RecordMessage} |
 * | `sendonce:producer:record-refused` | `{ topic, error, producer }` |
 * | `sendonce:producer:batch-drained` | `{ batch }` |
 * | `sendonce:producer:batch-split` | `{ batch, parts }` |
 * | `sendonce:producer:attempt-started` | `{ attempt }` |
 * | `sendonce:producer:attempt-ended` | `{ attempt, outcome }` |
 * | `sendonce:producer:batch-settled` | `{ batch, outcome }` |
 * | `sendonce:producer:event` | `{ event, producer }` |
 *
 * Channels are the process's: all producers with these hooks publish on them. A subscriber that throws fails no send, but Node raises
 * its error as an uncaught exception.
 */
export function channelHooks(): ProducerHooks {
  const records = channel('sendonce:producer:record');
  return {
    onProducerStarted: publisher('started', (producer) => ({ producer })),
    onProducerClosed: publisher('closed', (producer) => ({ producer })),
    onProducerIdRequested: publisher('id-requested', (request) => ({ request })),
    onProducerIdAnswered: publisher('id-answered', (request, outcome) => ({ request, outcome })),
    onRecord(record, producer) {
      if (!records.hasSubscribers) return undefined;
      const message: RecordMessage = { record, producer, watches: [] };
      records.publish(message);
      return joinWatches(message.watches, message.watches.findLast(({ headers }) => headers !== undefined)?.headers);
    },
    onRecordRefused: publisher('record-refused', (topic, error, producer) => ({ topic, error, producer })),
    onBatchDrained: publisher('batch-drained', (batch) => ({ batch })),
    onBatchSplit: publisher('batch-split', (batch, parts) => ({ batch, parts })),
    onAttemptStarted: publisher('attempt-started', (attempt) => ({ attempt })),
    onAttemptEnded: publisher('attempt-ended', (attempt, outcome) => ({ attempt, outcome })),
    onBatchSettled: publisher('batch-settled', (batch, outcome) => ({ batch, outcome })),
    onEvent: publisher('event', (event, producer) => ({ event, producer })),
  };
}

function publisher<Args extends unknown[]>(name: string, message: (...args: Args) => object): (...args: Args) => void {
  const target: Channel = channel(`sendonce:producer:${name}`);
  return (...args) => {
    if (target.hasSubscribers) target.publish(message(...args));
  };
}
