import type { WireWriter } from './wire-writer.ts';

/** Bytes of the frame's length and the request header (v1, or v2 in flexible requests). */
export const headerBytes = (clientId: Uint8Array, isFlexible: boolean) =>
  4 + 2 + 2 + 4 + 2 + clientId.length + (isFlexible ? 1 : 0);

export interface RequestHeader {
  /** Bytes of the whole request, its length field included. */
  readonly frameBytes: number;
  readonly apiKey: number;
  readonly version: number;
  readonly correlationId: number;
  /** UTF-8. Never compact, not even in flexible headers. */
  readonly clientId: Uint8Array;
  readonly isFlexible: boolean;
}

export function writeHeader(writer: WireWriter, header: RequestHeader): void {
  writer.int32(header.frameBytes - 4);
  writer.int16(header.apiKey);
  writer.int16(header.version);
  writer.int32(header.correlationId);
  writer.string(header.clientId, false);
  writer.noTags(header.isFlexible);
}
