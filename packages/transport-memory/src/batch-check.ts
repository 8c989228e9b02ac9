import {
  batchHeaderBytes,
  batchLengthOverheadBytes,
  crc32c,
  headerAt,
  type RecordBatchHeader,
  readBatchHeader,
  recordBatchMagic,
} from '@sendonce/producer-core/record-batch';
import { protocolErrorCodes } from '@sendonce/producer-core/transport';
import { hasProducerId } from './log-batch.ts';
import { findRecordFault } from './record-walk.ts';

/** Why a batch can't be stored. */
export interface BatchFault {
  readonly errorCode: number;
  readonly reason: string;
}

/** Turns the records section of a compressed batch into plain records. Throws on bytes that are none of its codec's. */
export type Decompress = (codecId: number, bytes: Buffer) => Buffer;

export interface BatchCheckOptions {
  /** Largest batch that is stored, header included. */
  readonly maxMessageBytes: number;
  readonly decompress: Decompress;
}

const { CORRUPT_MESSAGE, INVALID_RECORD, MESSAGE_TOO_LARGE, TRANSACTIONAL_ID_AUTHORIZATION_FAILED } =
  protocolErrorCodes;

/** The smallest record batch length of any format: Kafka takes anything below for corruption. */
const batchLengthMin = 14;
const codecIdMax = 4;

/**
 * Rule M3: whether the bytes of a produce request are one sound batch. The checks come in the order in which a Kafka broker
 * makes them, so that bytes which are wrong in two ways get the same answer. Returns the header of a sound batch.
 */
export function checkBatch(bytes: Buffer, options: BatchCheckOptions): RecordBatchHeader | BatchFault {
  const framing = findFramingFault(bytes);
  if (framing !== null) return framing;
  const header = readBatchHeader(bytes);
  return findHeaderFault(bytes, header, options) ?? findRecordsFault(bytes, header, options) ?? header;
}

export function isFault(checked: RecordBatchHeader | BatchFault): checked is BatchFault {
  return 'errorCode' in checked;
}

function findFramingFault(bytes: Buffer): BatchFault | null {
  if (bytes.length < batchLengthOverheadBytes) return invalid('the request holds no whole batch');
  const batchLength = bytes.readInt32BE(headerAt.batchLength);
  if (batchLength < batchLengthMin) return corrupt(`a batch can't be ${batchLength} bytes long`);
  if (bytes.length <= headerAt.magic) return invalid('the request holds no whole batch');
  const magic = bytes.readInt8(headerAt.magic);
  if (magic < 0 || magic > recordBatchMagic) return corrupt(`there is no magic ${magic}`);
  if (bytes.length < batchLengthOverheadBytes + batchLength) return invalid('the request holds no whole batch');
  if (magic !== recordBatchMagic) return invalid(`magic ${magic} is not accepted any more, only ${recordBatchMagic}`);
  if (batchLengthOverheadBytes + batchLength < batchHeaderBytes) return corrupt('the batch is shorter than its header');
  return null;
}

function findHeaderFault(
  bytes: Buffer,
  header: RecordBatchHeader,
  { maxMessageBytes }: BatchCheckOptions,
): BatchFault | null {
  const sizeBytes = batchLengthOverheadBytes + header.batchLength;
  if (header.isTransactional) {
    return {
      errorCode: TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
      reason: 'the batch is transactional, and the request names no transactional id',
    };
  }
  if (header.baseOffset !== 0n) return invalid(`the base offset must be 0, not ${header.baseOffset}`);
  if (sizeBytes > maxMessageBytes) {
    return { errorCode: MESSAGE_TOO_LARGE, reason: `${sizeBytes} bytes are more than the limit of ${maxMessageBytes}` };
  }
  if (crc32c(bytes.subarray(headerAt.attributes, sizeBytes)) !== header.crc)
    return corrupt('the CRC32C does not match');
  if (bytes.length > sizeBytes) return invalid(`${bytes.length - sizeBytes} bytes follow the batch`);
  if (header.codecId > codecIdMax) return unreadable(`there is no compression codec ${header.codecId}`);
  if (header.recordCount <= 0) return invalid(`a batch can't hold ${header.recordCount} records`);
  if (header.lastOffsetDelta + 1 !== header.recordCount) {
    return invalid(`the last offset delta is ${header.lastOffsetDelta}, the record count ${header.recordCount}`);
  }
  if (header.isControl) return invalid('clients may not write control records');
  if (hasProducerId(header) && header.baseSequence < 0) return invalid(`sequence ${header.baseSequence} is negative`);
  return null;
}

function findRecordsFault(
  bytes: Buffer,
  { codecId, recordCount }: RecordBatchHeader,
  { decompress }: BatchCheckOptions,
): BatchFault | null {
  if (codecId === 0) {
    const fault = findRecordFault(bytes, batchHeaderBytes, recordCount, { checkOffsetDeltas: false });
    return fault === null ? null : invalid(fault);
  }
  let records: Buffer;
  try {
    records = decompress(codecId, bytes.subarray(batchHeaderBytes));
  } catch (error) {
    return unreadable(`the records can't be decompressed: ${error instanceof Error ? error.message : String(error)}`);
  }
  const fault = findRecordFault(records, 0, recordCount, { checkOffsetDeltas: true });
  return fault === null ? null : invalid(fault);
}

function corrupt(reason: string): BatchFault {
  return { errorCode: CORRUPT_MESSAGE, reason };
}

function invalid(reason: string): BatchFault {
  return { errorCode: INVALID_RECORD, reason };
}

/** What Kafka answers when a codec throws, or there is none: an error of its own, not the client's. */
function unreadable(reason: string): BatchFault {
  return { errorCode: protocolErrorCodes.UNKNOWN_SERVER_ERROR, reason };
}
