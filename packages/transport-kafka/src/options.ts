import { ConfigError, platformRuntime, type Runtime } from '@sendonce/producer-core/transport';
import type { ISocketFactory, KafkaConfig, Mechanism, SASLOptions } from 'kafkajs';
import type { BrokerAddress, ConnectionOpener } from './connection/connection-opener.ts';

/**
 * Options of {@link createKafkaTransport}. A kafkajs `KafkaConfig` can be passed as it is: the names it uses are understood beside
 * ours (`connectionTimeout` is `connectionTimeoutMs`, and so on).
 */
export interface KafkaTransportOptions {
  /** Addresses to start from, `host:port` each, or a function that returns them. One that answers is enough. */
  readonly brokers: readonly string[] | KafkaConfig['brokers'];
  /** Shown in the broker's logs and metrics, and what client quotas go by. Default `sendonce`. */
  readonly clientId?: string;
  /** `true`, or options of Node's `tls.connect` such as `ca`, `cert`, `key`. Default: no TLS. */
  readonly ssl?: KafkaConfig['ssl'];
  /** Mechanism and credentials, or a mechanism of one's own with `authenticationProvider`, as kafkajs takes them. Default: none. */
  readonly sasl?: SASLOptions | Mechanism;
  /** Makes the sockets, as kafkajs's option does. Default: Node's `net` and `tls`. */
  readonly socketFactory?: ISocketFactory;
  /** Time to open a connection, TLS included. Default 5000. */
  readonly connectionTimeoutMs?: number;
  /** Time for SASL on top of that. Default 5000. */
  readonly authenticationTimeoutMs?: number;
  /** A session that the broker limits is renewed this long before it ends, or after 80 % of it. Default 10000. */
  readonly reauthenticationThresholdMs?: number;
  /** Time limit of metadata and producer-id requests; produce requests bring their own. Default 5000. */
  readonly requestTimeoutMs?: number;
  /** Whether asking for a topic that does not exist may create it, where the broker allows that. Default false. */
  readonly allowAutoTopicCreation?: boolean;
  /** Opens connections instead of kafkajs; then `ssl`, `sasl` and `socketFactory` are its own business and can't be given here. */
  readonly connectionOpener?: ConnectionOpener;
  /** Clock and timers. Default: the platform's. */
  readonly runtime?: Runtime;

  /** kafkajs's name of `connectionTimeoutMs`. */
  readonly connectionTimeout?: number;
  /** kafkajs's name of `authenticationTimeoutMs`. */
  readonly authenticationTimeout?: number;
  /** kafkajs's name of `reauthenticationThresholdMs`. */
  readonly reauthenticationThreshold?: number;
  /** kafkajs's name of `requestTimeoutMs`. */
  readonly requestTimeout?: number;
  /** kafkajs's. Time limits are always enforced (rule T4): `false` is a `ConfigError`. */
  readonly enforceRequestTimeout?: boolean;
  /** kafkajs's. Has no effect: a transport never retries (rule T1), the producer does. */
  readonly retry?: KafkaConfig['retry'];
  /** kafkajs's. Has no effect: nothing is logged here, errors and the producer's events say what happened. */
  readonly logLevel?: KafkaConfig['logLevel'];
  /** kafkajs's. Has no effect, as `logLevel`. */
  readonly logCreator?: KafkaConfig['logCreator'];
}

export interface ResolvedOptions {
  readonly bootstrap: () => Promise<BrokerAddress[]>;
  readonly clientId: string;
  readonly ssl: KafkaConfig['ssl'];
  readonly sasl: SASLOptions | Mechanism | undefined;
  readonly socketFactory: ISocketFactory | undefined;
  readonly connectionTimeoutMs: number;
  readonly authenticationTimeoutMs: number;
  readonly reauthenticationThresholdMs: number;
  readonly requestTimeoutMs: number;
  readonly allowAutoTopicCreation: boolean;
  readonly connectionOpener: ConnectionOpener | undefined;
  readonly runtime: Runtime;
}

type OptionName = keyof KafkaTransportOptions;

const kafkajsNames = {
  connectionTimeoutMs: 'connectionTimeout',
  authenticationTimeoutMs: 'authenticationTimeout',
  reauthenticationThresholdMs: 'reauthenticationThreshold',
  requestTimeoutMs: 'requestTimeout',
} as const;

const knownOptions: Readonly<Record<OptionName, true>> = {
  brokers: true,
  clientId: true,
  ssl: true,
  sasl: true,
  socketFactory: true,
  connectionTimeoutMs: true,
  authenticationTimeoutMs: true,
  reauthenticationThresholdMs: true,
  requestTimeoutMs: true,
  allowAutoTopicCreation: true,
  connectionOpener: true,
  runtime: true,
  connectionTimeout: true,
  authenticationTimeout: true,
  reauthenticationThreshold: true,
  requestTimeout: true,
  enforceRequestTimeout: true,
  retry: true,
  logLevel: true,
  logCreator: true,
};

const defaultTimeoutMs = 5_000;
const defaultThresholdMs = 10_000;
const longestTimeoutMs = 2 ** 31 - 1; // what Node's timers can do
const longestClientIdBytes = 32_767;

/** Checks every option. Throws `ConfigError` that names the field; never shows a value, which may be a secret. */
export function resolveOptions(options: KafkaTransportOptions): ResolvedOptions {
  if (typeof options !== 'object' || options === null)
    throw new ConfigError('createKafkaTransport takes an object with options.', ['options']);
  for (const name of Object.keys(options)) {
    if (!(name in knownOptions))
      throw new ConfigError(`Unknown option \`${name}\`. Known are: ${Object.keys(knownOptions).join(', ')}.`, [name]);
  }
  if (options.enforceRequestTimeout === false) {
    throw new ConfigError(
      '`enforceRequestTimeout: false` is not possible: a request without a time limit can hang for ever. Leave it out.',
      ['enforceRequestTimeout'],
    );
  }
  const clientId = options.clientId ?? 'sendonce';
  if (typeof clientId !== 'string' || clientId === '' || Buffer.byteLength(clientId) > longestClientIdBytes) {
    throw new ConfigError('`clientId` must be a text that is not empty.', ['clientId']);
  }
  checkType(options, 'socketFactory', 'function');
  checkType(options, 'allowAutoTopicCreation', 'boolean');
  checkType(options, 'connectionOpener', 'object');
  checkType(options, 'runtime', 'object');
  checkSecurity(options);
  return {
    bootstrap: bootstrapOf(options.brokers),
    clientId,
    ssl: options.ssl,
    sasl: options.sasl,
    socketFactory: options.socketFactory,
    connectionTimeoutMs: duration(options, 'connectionTimeoutMs', defaultTimeoutMs, 1),
    authenticationTimeoutMs: duration(options, 'authenticationTimeoutMs', defaultTimeoutMs, 1),
    reauthenticationThresholdMs: duration(options, 'reauthenticationThresholdMs', defaultThresholdMs, 0),
    requestTimeoutMs: duration(options, 'requestTimeoutMs', defaultTimeoutMs, 1),
    allowAutoTopicCreation: options.allowAutoTopicCreation ?? false,
    connectionOpener: options.connectionOpener,
    runtime: options.runtime ?? platformRuntime,
  };
}

function checkType(options: KafkaTransportOptions, name: OptionName, type: 'function' | 'boolean' | 'object'): void {
  const value: unknown = options[name];
  if (value !== undefined && (typeof value !== type || value === null))
    throw new ConfigError(`\`${name}\` must be a ${type}.`, [name]);
}

function checkSecurity({ ssl, sasl, socketFactory, connectionOpener }: KafkaTransportOptions): void {
  if (ssl !== undefined && typeof ssl !== 'boolean' && (typeof ssl !== 'object' || ssl === null)) {
    throw new ConfigError('`ssl` must be true, false, or an object with options of tls.connect.', ['ssl']);
  }
  if (sasl !== undefined) checkSasl(sasl);
  if (connectionOpener === undefined) return;
  const given = Object.entries({ ssl, sasl, socketFactory }).filter(([, value]) => value !== undefined);
  const [first] = given;
  if (first) {
    const fields = ['connectionOpener', ...given.map(([name]) => name)];
    throw new ConfigError(
      `\`connectionOpener\` opens connections by itself, so \`${first[0]}\` would have no effect. Give it to the opener instead.`,
      fields,
    );
  }
}

const requiredFields: Readonly<Record<string, readonly string[]>> = {
  plain: ['username', 'password'],
  'scram-sha-256': ['username', 'password'],
  'scram-sha-512': ['username', 'password'],
  oauthbearer: ['oauthBearerProvider'],
  aws: ['authorizationIdentity', 'accessKeyId', 'secretAccessKey'],
};

function checkSasl(sasl: SASLOptions | Mechanism): void {
  const fields = sasl as unknown as Record<string, unknown>;
  const { mechanism, authenticationProvider } = fields;
  if (typeof mechanism !== 'string' || mechanism === '')
    throw new ConfigError('`sasl.mechanism` must be a text, e.g. "scram-sha-512".', ['sasl.mechanism']);
  if (authenticationProvider !== undefined) {
    if (typeof authenticationProvider !== 'function')
      throw new ConfigError('`sasl.authenticationProvider` must be a function.', ['sasl.authenticationProvider']);
    return;
  }
  const required = requiredFields[mechanism.toLowerCase()];
  if (!required) {
    const known = Object.keys(requiredFields).join(', ');
    throw new ConfigError(
      `\`sasl.mechanism\` is none of ${known}. Another one needs \`sasl.authenticationProvider\`.`,
      ['sasl.mechanism'],
    );
  }
  for (const field of required) {
    const value = fields[field];
    const isRight =
      field === 'oauthBearerProvider' ? typeof value === 'function' : typeof value === 'string' && value !== '';
    if (!isRight) {
      throw new ConfigError(
        `\`sasl.${field}\` is missing or of the wrong type; the mechanism ${mechanism} needs ${required.join(' and ')}.`,
        [`sasl.${field}`],
      );
    }
  }
}

function duration(
  options: KafkaTransportOptions,
  name: keyof typeof kafkajsNames,
  byDefault: number,
  min: number,
): number {
  const theirs = kafkajsNames[name];
  if (options[name] !== undefined && options[theirs] !== undefined) {
    throw new ConfigError(`\`${name}\` and \`${theirs}\` are the same option. Keep one of them.`, [name, theirs]);
  }
  const field = options[theirs] === undefined ? name : theirs;
  const value = options[field] ?? byDefault;
  if (typeof value !== 'number' || !(value >= min && value <= longestTimeoutMs)) {
    throw new ConfigError(`\`${field}\` must be a number of milliseconds from ${min} to ${longestTimeoutMs}.`, [field]);
  }
  return value;
}

function bootstrapOf(brokers: KafkaTransportOptions['brokers']): () => Promise<BrokerAddress[]> {
  if (typeof brokers === 'function') return async () => parseAddresses(await brokers());
  const addresses = parseAddresses(brokers);
  return async () => addresses;
}

function parseAddresses(brokers: unknown): BrokerAddress[] {
  if (!Array.isArray(brokers) || brokers.length === 0) {
    throw new ConfigError('`brokers` must be a list with at least one "host:port", or a function that returns one.', [
      'brokers',
    ]);
  }
  return brokers.map((text: unknown, i) => {
    const match =
      typeof text === 'string' ? /^(?:\[(?<v6>[^\]]+)\]|(?<name>[^:/\s]+)):(?<port>\d{1,5})$/.exec(text.trim()) : null;
    const port = Number(match?.groups?.port);
    const host = match?.groups?.v6 ?? match?.groups?.name;
    if (host === undefined || !(port >= 1 && port <= 65_535)) {
      throw new ConfigError(`\`brokers[${i}]\` must be "host:port" (or "[address]:port" for IPv6), without a scheme.`, [
        `brokers[${i}]`,
      ]);
    }
    return { host, port };
  });
}
