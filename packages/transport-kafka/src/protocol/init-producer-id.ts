import type { ProducerIdentity } from '@sendonce/producer-core/transport';
import { apiKeys, firstFlexibleVersion } from './api-keys.ts';
import { headerBytes, writeHeader } from './request-header.ts';
import type { WireReader } from './wire-reader.ts';
import type { WireWriter } from './wire-writer.ts';

// Brokers ignore it without a transactional id; Java's client sends its default all the same.
const transactionTimeoutMs = 60_000;
const firstVersionWithCurrentIdentity = 3;

const isFlexibleVersion = (version: number) => version >= firstFlexibleVersion.initProducerId;

/** Asks for a new id, without transactions (KIP-98). */
export function encodeInitProducerId(
  writer: WireWriter,
  version: number,
  correlationId: number,
  clientId: Uint8Array,
): Buffer {
  const isFlexible = isFlexibleVersion(version);
  const hasIdentity = version >= firstVersionWithCurrentIdentity;
  const frameBytes =
    headerBytes(clientId, isFlexible) + (isFlexible ? 1 : 2) + 4 + (hasIdentity ? 10 : 0) + (isFlexible ? 1 : 0);
  writer.reserve(frameBytes);
  writeHeader(writer, { frameBytes, apiKey: apiKeys.initProducerId, version, correlationId, clientId, isFlexible });
  writer.nullString(isFlexible);
  writer.int32(transactionTimeoutMs);
  if (hasIdentity) {
    writer.int64(-1n);
    writer.int16(-1);
  }
  writer.noTags(isFlexible);
  return writer.take();
}

export interface InitProducerIdReply extends ProducerIdentity {
  readonly throttleTimeMs: number;
  readonly errorCode: number;
}

export function decodeInitProducerId(reader: WireReader, version: number): InitProducerIdReply {
  if (isFlexibleVersion(version)) reader.tags();
  return {
    throttleTimeMs: reader.int32(),
    errorCode: reader.int16(),
    producerId: reader.int64(),
    epoch: reader.int16(),
  };
}
