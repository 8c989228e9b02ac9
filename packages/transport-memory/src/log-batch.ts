import { type RecordBatchHeader, readBatchHeader, sequenceAfter } from '@sendonce/producer-core/record-batch';

/** A batch as it lies in a log: its bytes, never changed again, and the header fields that the broker works with. */
export class LogBatch {
  readonly bytes: Buffer;
  readonly header: RecordBatchHeader;
  readonly baseOffset: number;
  readonly lastOffset: number;
  readonly lastSequence: number;
  /** When the leader appended it, by its wall clock. Kept beside the bytes, as Kafka does in its time index. */
  readonly appendedMs: number;

  /** `bytes` must have passed `findBatchFault`, and their place in the log must be written. */
  constructor(bytes: Buffer, appendedMs: number) {
    const header = readBatchHeader(bytes);
    this.bytes = bytes;
    this.header = header;
    this.baseOffset = Number(header.baseOffset);
    this.lastOffset = this.baseOffset + header.lastOffsetDelta;
    this.lastSequence = lastSequenceOf(header);
    this.appendedMs = appendedMs;
  }

  get nextOffset(): number {
    return this.lastOffset + 1;
  }

  get sizeBytes(): number {
    return this.bytes.length;
  }
}

/** The sequence number of a batch's last record; -1 where the batch has none. */
export function lastSequenceOf({ baseSequence, lastOffsetDelta }: RecordBatchHeader): number {
  return baseSequence < 0 ? -1 : sequenceAfter(baseSequence, lastOffsetDelta);
}

/** Whether a batch comes from an idempotent producer. Brokers take every negative id for none. */
export function hasProducerId({ producerId }: RecordBatchHeader): boolean {
  return producerId >= 0n;
}
