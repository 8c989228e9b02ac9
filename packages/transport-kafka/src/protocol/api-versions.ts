import { apiKeys, type NegotiatedApi, supportedVersions, type VersionRange, type VersionRanges } from './api-keys.ts';
import { headerBytes, writeHeader } from './request-header.ts';
import { MalformedReplyError, type WireReader } from './wire-reader.ts';
import type { WireWriter } from './wire-writer.ts';

const softwareName = Buffer.from('sendonce');
/** Shown in the broker's metrics (KIP-511). The package's version; a test compares them. */
export const softwareVersion = '0.0.0';
const softwareVersionBytes = Buffer.from(softwareVersion);

/** 3 is understood since Kafka 2.4; a broker that does not answers in version 0 with error 35, and is asked in version 0. */
export type ApiVersionsVersion = 0 | 3;

export function encodeApiVersions(
  writer: WireWriter,
  version: ApiVersionsVersion,
  correlationId: number,
  clientId: Uint8Array,
): Buffer {
  const isFlexible = version === 3;
  const bodyBytes = isFlexible ? 1 + softwareName.length + 1 + softwareVersionBytes.length + 1 : 0;
  const frameBytes = headerBytes(clientId, isFlexible) + bodyBytes;
  writer.reserve(frameBytes);
  writeHeader(writer, { frameBytes, apiKey: apiKeys.apiVersions, version, correlationId, clientId, isFlexible });
  if (isFlexible) {
    writer.string(softwareName, true);
    writer.string(softwareVersionBytes, true);
    writer.noTags(true);
  }
  return writer.take();
}

export interface ApiVersionsReply {
  readonly errorCode: number;
  readonly ranges: ReadonlyMap<number, VersionRange>;
}

const unsupportedVersion = 35;

/** The reply's header is never flexible (KIP-482), so that a client can read the refusal of an old broker. */
export function decodeApiVersions(reader: WireReader, version: ApiVersionsVersion): ApiVersionsReply {
  const errorCode = reader.int16();
  const isFlexible = version === 3 && errorCode !== unsupportedVersion;
  const ranges = new Map<number, VersionRange>();
  const count = reader.arrayLength(isFlexible);
  for (let i = 0; i < count; i++) {
    const apiKey = reader.int16();
    const min = reader.int16();
    const max = reader.int16();
    if (min > max) throw new MalformedReplyError(`request ${apiKey} has versions ${min} to ${max}`);
    ranges.set(apiKey, { min, max });
    if (isFlexible) reader.tags();
  }
  return { errorCode, ranges };
}

/** The version to use for each request with one broker. */
export type AgreedVersions = Readonly<Record<NegotiatedApi, number>>;

/** The highest version that both sides know, or the request for which there is none. */
export function agreeOnVersions(
  broker: ReadonlyMap<number, VersionRange>,
  ours: VersionRanges = supportedVersions,
):
  | { readonly agreed: AgreedVersions }
  | { readonly missing: NegotiatedApi; readonly offered: VersionRange | undefined } {
  const agreed = { produce: 0, metadata: 0, initProducerId: 0 };
  for (const api of Object.keys(agreed) as NegotiatedApi[]) {
    const offered = broker.get(apiKeys[api]);
    const version = Math.min(ours[api].max, offered?.max ?? -1);
    if (offered === undefined || version < Math.max(ours[api].min, offered.min)) return { missing: api, offered };
    agreed[api] = version;
  }
  return { agreed };
}
