import { TransportError } from '@sendonce/producer-core/transport';
import { FrameLengthError } from './connection/frame-reader.ts';
import type { SecretRedactor } from './secret-redactor.ts';

export interface OpeningFailure {
  /** What kafkajs rejected with. */
  readonly error: Error;
  /** What the socket said, if it said anything. */
  readonly socketError: Error | undefined;
  readonly address: string;
  readonly usesTls: boolean;
  readonly redactor: SecretRedactor;
}

const authenticationErrors = new Set(['KafkaJSSASLAuthenticationError']);
const authenticationTypes = new Set(['SASL_AUTHENTICATION_FAILED', 'UNSUPPORTED_SASL_MECHANISM', 'ILLEGAL_SASL_STATE']);

function causes(error: Error): Error[] {
  const chain: Error[] = [];
  for (let at: unknown = error; at instanceof Error && !chain.includes(at); at = at.cause) chain.push(at);
  return chain;
}

/**
 * Says why a connection could not be opened. The cause is a new error with the text alone: kafkajs's own errors hold references
 * to what it was doing, credentials among it.
 */
export function describeOpeningFailure({
  error,
  socketError,
  address,
  usesTls,
  redactor,
}: OpeningFailure): TransportError {
  const chain = causes(error);
  const refusal = chain.find(
    (one) => authenticationErrors.has(one.name) || authenticationTypes.has((one as { type?: string }).type ?? ''),
  );
  const root = refusal ?? socketError ?? chain.at(-1)!;
  const text = redactor.redact(root.message);
  const cause = Object.assign(new Error(text), { code: (root as NodeJS.ErrnoException).code });
  if (refusal) {
    return new TransportError(
      `${address} refused the credentials: ${text}. Check \`sasl\`: mechanism, user name and secret.`,
      {
        sent: 'no',
        code: 'AUTHENTICATION_FAILED',
        retriable: false,
        cause,
      },
    );
  }
  return new TransportError(`No connection to ${address}: ${text}${hint(root, chain, usesTls)}.`, {
    sent: 'no',
    code: root instanceof FrameLengthError ? 'MALFORMED_REPLY' : 'CONNECTION_FAILED',
    cause,
  });
}

function hint(root: Error, chain: readonly Error[], usesTls: boolean): string {
  const { code = '' } = root as NodeJS.ErrnoException;
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return ". The certificate is for other names: use one of them in `brokers` and in the brokers' advertised listeners";
  if (code.includes('CERT') || code.includes('SIGNATURE'))
    return '. The certificate is not signed by an authority that Node trusts: pass it as `ssl.ca`';
  if (
    usesTls &&
    (code === 'ERR_SSL_WRONG_VERSION_NUMBER' ||
      code === 'EPROTO' ||
      root.message.includes('before secure TLS connection'))
  )
    return '. The listener does not speak TLS: leave `ssl` out, or use the port of the TLS listener';
  const wasClosed = chain.some(({ message }) => message.includes('Closed connection') || message.includes('closed'));
  if (wasClosed && !usesTls) return '. A listener with TLS closes plain connections: set `ssl` if it is one';
  return '';
}
