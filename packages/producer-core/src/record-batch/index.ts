export type { CompressionCodec, CompressionName } from './codecs/codec.ts';
export { type CodecName, loadAvailableCodecs, loadCodec } from './codecs/load-codec.ts';
export { compressBatch } from './compress.ts';
export { crc32c } from './crc32c.ts';
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
export {
  type DecodedBatch,
  type DecodeOptions,
  decodeRecordBatch,
  decodeRecordBatches,
  decodeRecords,
} from './reader.ts';
export { RecordBatchError, type RecordBatchErrorCode } from './record-batch-error.ts';
export type { DecodedRecord } from './record-cursor.ts';
export { encodedRecordSize } from './record-size.ts';
export { lastSequence, sequenceAfter } from './sequence.ts';
export { splitBatch } from './split.ts';
export { type AppendOutcome, RecordBatchWriter } from './writer.ts';
