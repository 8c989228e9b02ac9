export { crc32c, crc32cImplementation } from './crc32c.ts';
export {
  type BatchNumbers,
  batchHeaderBytes,
  batchLengthOverheadBytes,
  headerAt,
  placeBatch,
  type RecordBatchHeader,
  readBatchHeader,
  recordBatchMagic,
  stampBatch,
  type TimestampType,
  writeBatchCrc,
} from './header.ts';
export { RecordBatchError, type RecordBatchErrorCode } from './record-batch-error.ts';
export { lastSequence, sequenceAfter, sequenceDistance } from './sequence.ts';
