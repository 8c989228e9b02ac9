import { SendonceError } from '../errors.ts';

/**
 * What is wrong with a batch. Brokers answer these differently, so they are kept apart:
 * - `TRUNCATED`: the bytes end before the batch does.
 * - `INVALID_LENGTH`: the batch's length is smaller than a batch's header.
 * - `UNSUPPORTED_MAGIC`: not record batch v2.
 * - `CRC_MISMATCH`: the bytes changed on the way.
 * - `INVALID_COUNT`: record count and last offset delta contradict one another or the records.
 * - `INVALID_RECORD`: a length inside the records section makes no sense.
 * - `TRAILING_BYTES`: bytes follow where the batch, or its last record, should end.
 * - `UNKNOWN_CODEC`: the compression codec has no such id, or its codec was not given.
 * - `DECOMPRESSION_FAILED`: the codec can't read the records section.
 * - `DECOMPRESSED_TOO_LARGE`: the records section is, or says that it is, larger than the limit when decompressed.
 */
export type RecordBatchErrorCode =
  | 'TRUNCATED'
  | 'INVALID_LENGTH'
  | 'UNSUPPORTED_MAGIC'
  | 'CRC_MISMATCH'
  | 'INVALID_COUNT'
  | 'INVALID_RECORD'
  | 'TRAILING_BYTES'
  | 'UNKNOWN_CODEC'
  | 'DECOMPRESSION_FAILED'
  | 'DECOMPRESSED_TOO_LARGE';

/** Bytes that should be a record batch are not a sound one. */
export class RecordBatchError extends SendonceError {
  override readonly name = 'RecordBatchError';
  declare readonly code: RecordBatchErrorCode;
  /** The field in question, e.g. `crc` or `records[3].valueLength`. */
  readonly field: string;
  /** Where it is: bytes from the start of the batch, or of the decompressed records section for a field of a record. */
  readonly at: number;

  constructor(code: RecordBatchErrorCode, field: string, at: number, what: string, options: ErrorOptions = {}) {
    super(`Record batch: ${what} (${field}, byte ${at})`, { code, ...options });
    this.field = field;
    this.at = at;
  }
}
