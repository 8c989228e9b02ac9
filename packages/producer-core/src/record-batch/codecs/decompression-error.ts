import { batchHeaderBytes } from '../header.ts';
import { RecordBatchError } from '../record-batch-error.ts';

/** The bytes are not what the codec writes. */
export function decompressionFailed(codec: string, what: string, cause?: unknown): RecordBatchError {
  return new RecordBatchError('DECOMPRESSION_FAILED', 'records', batchHeaderBytes, `${codec}: ${what}`, { cause });
}

/** The result would exceed the caller's limit. */
export function decompressedTooLarge(codec: string, maxBytes: number, cause?: unknown): RecordBatchError {
  return new RecordBatchError(
    'DECOMPRESSED_TOO_LARGE',
    'records',
    batchHeaderBytes,
    `${codec}: more than the limit of ${maxBytes} bytes when decompressed`,
    { cause },
  );
}
