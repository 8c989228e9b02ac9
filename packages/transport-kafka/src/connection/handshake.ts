import { protocolErrorName, TransportError } from '@sendonce/producer-core/transport';
import type { VersionRanges } from '../protocol/api-keys.ts';
import {
  type AgreedVersions,
  type ApiVersionsReply,
  type ApiVersionsVersion,
  agreeOnVersions,
} from '../protocol/api-versions.ts';
import { ApiVersionsCall } from './calls.ts';
import type { Connection } from './connection.ts';

const unsupportedVersion = 35;

function ask(connection: Connection, version: ApiVersionsVersion): Promise<ApiVersionsReply> {
  return new Promise((resolve, reject) => connection.send(new ApiVersionsCall(version, resolve, reject)));
}

/** Asks a broker what it speaks, and picks the highest versions that both sides know. */
export async function negotiateVersions(
  connection: Connection,
  address: string,
  ours: VersionRanges,
): Promise<AgreedVersions> {
  let reply = await ask(connection, 3);
  if (reply.errorCode === unsupportedVersion) reply = await ask(connection, 0);
  if (reply.errorCode !== 0) {
    throw new TransportError(
      `${address} refused the ApiVersions request: ${protocolErrorName(reply.errorCode)} (${reply.errorCode}).`,
      {
        sent: 'no',
        code: 'UNSUPPORTED_BROKER',
      },
    );
  }
  const result = agreeOnVersions(reply.ranges, ours);
  if ('agreed' in result) return result.agreed;
  const { missing, offered } = result;
  const { min, max } = ours[missing];
  throw new TransportError(
    `${address} speaks ${offered ? `versions ${offered.min} to ${offered.max}` : 'no version'} of the ${missing} request, this transport versions ${min} to ${max}.`,
    { sent: 'no', code: 'UNSUPPORTED_BROKER', retriable: false },
  );
}
