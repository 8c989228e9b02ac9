import { headerAt, placeBatch, type RecordBatchHeader, writeBatchCrc } from '@sendonce/producer-core/record-batch';
import { type BatchCheckOptions, checkBatch, isFault } from './batch-check.ts';
import { hasProducerId, LogBatch, lastSequenceOf } from './log-batch.ts';
import type { ProfileRules } from './profile.ts';
import type { Replica } from './replica.ts';
import { validateBatch } from './validation.ts';

export interface LeaderAppendOptions extends BatchCheckOptions {
  readonly rules: ProfileRules;
  /** LogAppendTime: the broker's clock replaces the records' timestamps. */
  readonly timestampType: 'CreateTime' | 'LogAppendTime';
}

/** Where and when a batch is appended. */
interface Place {
  readonly leaderEpoch: number;
  readonly nowMs: number;
}

/** What became of a batch that reached the leader. Stored or not, it is so as a whole (M3). */
export type AppendOutcome =
  | { readonly kind: 'stored'; readonly header: RecordBatchHeader; readonly batch: LogBatch; readonly rolled: boolean }
  | {
      readonly kind: 'recognised';
      readonly header: RecordBatchHeader;
      readonly baseOffset: number;
      readonly lastOffset: number;
      readonly timestampMs: number;
    }
  | {
      readonly kind: 'refused';
      /** Null when the bytes are not a sound batch. */
      readonly header: RecordBatchHeader | null;
      readonly errorCode: number;
      readonly reason: string;
      readonly expectedSequence: number | null;
    };

const logAppendTimeBit = 0b1000;

/** The leader's whole decision on one batch: sound (M3), new (M2), then stored as it was sent (M4). */
export function appendAsLeader(
  replica: Replica,
  sent: Uint8Array,
  place: Place,
  options: LeaderAppendOptions,
): AppendOutcome {
  const bytes = Buffer.from(sent.buffer, sent.byteOffset, sent.byteLength);
  const header = checkBatch(bytes, options);
  if (isFault(header)) return { kind: 'refused', header: null, ...header, expectedSequence: null };
  if (hasProducerId(header)) {
    const verdict = validateBatch(
      replica.findProducer(header.producerId),
      {
        producerEpoch: header.producerEpoch,
        baseSequence: header.baseSequence,
        lastSequence: lastSequenceOf(header),
      },
      options.rules,
    );
    if (verdict.kind === 'refuse') return { ...verdict, kind: 'refused', header };
    if (verdict.kind === 'duplicate') {
      const { baseOffset, lastOffset, timestampMs } = verdict.batch;
      return { kind: 'recognised', header, baseOffset, lastOffset, timestampMs };
    }
  }
  const batch = new LogBatch(placed(bytes, header, replica.log.logEndOffset, place, options), place.nowMs);
  return { kind: 'stored', header, batch, rolled: replica.append(batch) };
}

/** The log's own copy: the sender may use its buffer again once it has its answer. */
function placed(
  sent: Buffer,
  header: RecordBatchHeader,
  baseOffset: number,
  { leaderEpoch, nowMs }: Place,
  { timestampType }: LeaderAppendOptions,
): Buffer {
  const bytes = Buffer.allocUnsafe(sent.length);
  sent.copy(bytes);
  placeBatch(bytes, BigInt(baseOffset), leaderEpoch);
  if (timestampType === 'LogAppendTime') {
    bytes.writeInt16BE(header.attributes | logAppendTimeBit, headerAt.attributes);
    bytes.writeBigInt64BE(BigInt(nowMs), headerAt.maxTimestamp);
    writeBatchCrc(bytes, bytes.length);
  } else if (header.timestampType === 'LogAppendTime') {
    // A client can't decide that the broker's clock was used.
    bytes.writeInt16BE(header.attributes & ~logAppendTimeBit, headerAt.attributes);
    writeBatchCrc(bytes, bytes.length);
  }
  return bytes;
}
