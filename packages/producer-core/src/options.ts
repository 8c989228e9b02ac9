import { ConfigError } from './errors.ts';
import type { IdempotencyKeyReader } from './idempotency-key.ts';
import { hookNames, type ProducerHooks, type ProducerLogger } from './observe/hooks.ts';
import type { ProducerRecord } from './record.ts';
import type { CompressionCodec, CompressionName } from './record-batch/index.ts';
import { platformRuntime, type Runtime } from './runtime.ts';
import type { Acks, Transport } from './transport/transport.ts';

/** Picks a partition from 0 to `partitionCount - 1`. Called once a record, synchronously. */
export type Partitioner = (record: ProducerRecord, partitionCount: number) => number;

/** Options of `createProducer`. Durations are milliseconds, sizes bytes. */
export interface ProducerOptions {
  /** The way to the cluster; the producer connects and closes it. */
  readonly transport: Transport;
  /** Names this producer in messages and telemetry. Default `'sendonce'`. */
  readonly clientId?: string;
  /** Whether the broker recognises repeats. Default true; off only when written here (rule C15). */
  readonly idempotence?: boolean;
  /** Default `'all'`; idempotence needs it. */
  readonly acks?: Acks;
  /** Produce requests without an answer, per broker. Default 5, which is also the most that idempotence allows (rule C5). */
  readonly maxInFlight?: number;
  /**
   * The longest a record waits for others to share its request while its broker works on another one. A bound, not a wait (rule C18);
   * when a broker answers later than it could, as much is added, a second at most. 0: never wait. Default 5.
   */
  readonly lingerMs?: number;
  /** A batch's size before compression at which it is full. Default 262,144. */
  readonly batchSize?: number;
  /** Largest produce request, and so largest record. Default 1,048,576. */
  readonly maxRequestSize?: number;
  /** Memory for records that are not settled. Default 33,554,432 (rule C14). */
  readonly bufferMemory?: number;
  /** The longest `send` waits for memory or for the topic's metadata, and `createProducer` for its producer id. Default 60,000. */
  readonly maxBlockMs?: number;
  /** The longest a request waits for its answer. Default 30,000. */
  readonly requestTimeoutMs?: number;
  /** One budget per batch, from its creation: waiting, attempts and pauses (rule C8). Default 120,000. */
  readonly deliveryTimeoutMs?: number;
  /** Pause before the first retry; doubles up to `retryBackoffMaxMs`, ±20 %. Default 100. */
  readonly retryBackoffMs?: number;
  /** Default 1,000. */
  readonly retryBackoffMaxMs?: number;
  /** Age at which metadata is asked for again. Default 300,000. */
  readonly metadataMaxAgeMs?: number;
  /** What the broker's `producer.id.expiration.ms` is. Default 86,400,000 (rule C19). */
  readonly producerIdExpirationMs?: number;
  /** `'none'` (default), `'gzip'`, `'zstd'`, `'snappy'` (needs the package snappy), `'lz4'` (needs lz4-napi), or a codec of your own. */
  readonly compression?: CompressionName | CompressionCodec;
  /** Default: explicit partition, else the key's hash as Java's client computes it, else a partition that changes as batches fill. */
  readonly partitioner?: Partitioner;
  /**
   * Sets the header `idempotency-key`, by which consumers recognise a record that was sent again (rule D1): the
   * payment's id, say. Absent, no header is set. A record that has the header keeps its own; one for which `undefined` is returned gets none.
   * When it throws or returns anything but text or bytes, that record is refused with a {@link ConfigError}.
   */
  readonly idempotencyKey?: IdempotencyKeyReader;
  readonly hooks?: ProducerHooks;
  /** Without one, warnings go to `process.emitWarning` and the startup report to nobody. */
  readonly logger?: ProducerLogger;
  /** Clock, timers and randomness; the platform's by default (rule C17). */
  readonly runtime?: Runtime;
}

type Defaulted = Omit<Required<ProducerOptions>, 'partitioner' | 'idempotencyKey' | 'hooks' | 'logger'>;

/** Options with every default filled in. */
export interface ResolvedOptions extends Defaulted {
  readonly partitioner: Partitioner | undefined;
  readonly idempotencyKey: IdempotencyKeyReader | undefined;
  readonly hooks: ProducerHooks;
  readonly logger: ProducerLogger | undefined;
}

const largestTimerMs = 2_147_483_647;

type Check = (name: string, value: unknown) => void;

function fail(name: string, expected: string, value: unknown): never {
  const shown =
    typeof value === 'string'
      ? `'${value}'`
      : typeof value === 'object' && value !== null
        ? 'an object'
        : String(value);
  throw new ConfigError(`Option ${name} must be ${expected}, not ${shown}.`, [name]);
}

const integer =
  (min: number, max: number, unit: string): Check =>
  (name, value) => {
    if (typeof value !== 'number' || !Number.isInteger(value) || value < min || value > max) {
      fail(name, `a whole number${unit} from ${min} to ${max}`, value);
    }
  };
const duration =
  (min: number): Check =>
  (name, value) => {
    if (typeof value !== 'number' || !(value >= min && value <= largestTimerMs)) {
      fail(name, `milliseconds from ${min} to ${largestTimerMs}`, value);
    }
  };
const bytes = (min: number): Check => integer(min, 1_073_741_824, ' of bytes');
const methodsOf =
  (...methods: string[]): Check =>
  (name, value) => {
    const missing = methods.filter(
      (method) => typeof (value as Record<string, unknown> | null)?.[method] !== 'function',
    );
    if (missing.length > 0) fail(name, `an object with ${methods.join(', ')} (missing: ${missing.join(', ')})`, value);
  };

const codecNames = ['none', 'gzip', 'snappy', 'lz4', 'zstd'];

const checks: Readonly<Record<keyof ProducerOptions, Check>> = {
  transport: methodsOf('connect', 'close', 'metadata', 'initProducerId', 'produce'),
  clientId: (name, value) => {
    if (typeof value !== 'string' || value === '') fail(name, 'a string that is not empty', value);
  },
  idempotence: (name, value) => {
    if (typeof value !== 'boolean') fail(name, 'true or false', value);
  },
  acks: (name, value) => {
    if (value !== 'all' && value !== 'leader' && value !== 'none') fail(name, "'all', 'leader' or 'none'", value);
  },
  maxInFlight: integer(1, 1_000, ''),
  lingerMs: duration(0),
  batchSize: bytes(512),
  maxRequestSize: bytes(512),
  bufferMemory: bytes(4_096),
  maxBlockMs: duration(0),
  requestTimeoutMs: duration(1),
  deliveryTimeoutMs: duration(1),
  retryBackoffMs: duration(0),
  retryBackoffMaxMs: duration(0),
  metadataMaxAgeMs: duration(1),
  producerIdExpirationMs: (name, value) => {
    if (typeof value !== 'number' || !(value > 0)) fail(name, 'milliseconds above 0', value);
  },
  compression: (name, value) => {
    if (typeof value === 'string') {
      if (!codecNames.includes(value)) fail(name, `one of ${codecNames.join(', ')}, or a codec object`, value);
    } else {
      methodsOf('compress', 'decompress')(name, value);
      const { id, name: codecName } = value as Partial<Record<keyof CompressionCodec, unknown>>;
      if (!Number.isInteger(id) || (id as number) < 1 || (id as number) > 4) {
        fail(`${name}.id`, '1 (gzip), 2 (snappy), 3 (lz4) or 4 (zstd)', id);
      }
      if (typeof codecName !== 'string') fail(`${name}.name`, 'a string', codecName);
    }
  },
  partitioner: (name, value) => {
    if (typeof value !== 'function') fail(name, 'a function (record, partitionCount) => partition', value);
  },
  idempotencyKey: (name, value) => {
    if (typeof value !== 'function') fail(name, 'a function (record) => key, or undefined for none', value);
  },
  hooks: (name, value) => {
    if (value === null || typeof value !== 'object') fail(name, 'an object of hook functions', value);
    for (const [hook, call] of Object.entries(value as object)) {
      if (!(hookNames as readonly string[]).includes(hook)) {
        throw new ConfigError(`Option hooks has no hook ${hook}; there are ${hookNames.join(', ')}.`, [
          `hooks.${hook}`,
        ]);
      }
      if (call !== undefined && typeof call !== 'function') fail(`hooks.${hook}`, 'a function', call);
    }
  },
  logger: methodsOf('info', 'warn'),
  runtime: methodsOf('monotonicMs', 'wallClockMs', 'schedule', 'cancel', 'endOfTurn', 'random'),
};

/** Two options that do not go together (rule C15): says both, and the way out. */
function checkTogether(options: ResolvedOptions): void {
  const conflict = (first: string, second: string, why: string, fix: string): never => {
    throw new ConfigError(
      `Options ${first} and ${second} conflict: ${why} ${fix}`,
      [first, second].map((field) => field.split(':')[0]!),
    );
  };
  if (options.idempotence && options.acks !== 'all') {
    conflict(
      `acks: '${options.acks}'`,
      'idempotence: true',
      'the broker recognises repeats only of what every in-sync replica has.',
      "Write acks: 'all', or give up the promise with idempotence: false.",
    );
  }
  if (options.idempotence && options.maxInFlight > 5) {
    conflict(
      `maxInFlight: ${options.maxInFlight}`,
      'idempotence: true',
      'a broker remembers five batches per producer and partition, so a sixth could not be recognised as a repeat.',
      'Write maxInFlight: 5 or less, or give up the promise with idempotence: false.',
    );
  }
  if (options.deliveryTimeoutMs < options.requestTimeoutMs + options.lingerMs) {
    conflict(
      `deliveryTimeoutMs: ${options.deliveryTimeoutMs}`,
      `requestTimeoutMs: ${options.requestTimeoutMs}`,
      'the time for one request and lingerMs must fit into the time for all of them.',
      'Raise deliveryTimeoutMs or lower requestTimeoutMs.',
    );
  }
  if (options.retryBackoffMaxMs < options.retryBackoffMs) {
    conflict(
      `retryBackoffMaxMs: ${options.retryBackoffMaxMs}`,
      `retryBackoffMs: ${options.retryBackoffMs}`,
      'the largest pause is below the first.',
      'Raise retryBackoffMaxMs.',
    );
  }
  if (options.batchSize > options.maxRequestSize) {
    conflict(
      `batchSize: ${options.batchSize}`,
      `maxRequestSize: ${options.maxRequestSize}`,
      'a full batch would not fit into a request.',
      'Lower batchSize or raise maxRequestSize (and the topic’s max.message.bytes).',
    );
  }
  if (options.bufferMemory < options.maxRequestSize) {
    conflict(
      `bufferMemory: ${options.bufferMemory}`,
      `maxRequestSize: ${options.maxRequestSize}`,
      'the largest record would never fit into memory.',
      'Raise bufferMemory or lower maxRequestSize.',
    );
  }
}

/**
 * Checks options and fills in defaults. An absent batchSize follows a smaller maxRequestSize.
 * @throws {ConfigError} naming each option that is wrong, and what to write instead.
 */
export function resolveOptions(options: ProducerOptions): ResolvedOptions {
  if (options === null || typeof options !== 'object') {
    throw new ConfigError('createProducer needs options: createProducer({ transport }).', ['options']);
  }
  for (const [name, value] of Object.entries(options)) {
    const check = checks[name as keyof ProducerOptions];
    if (check === undefined) {
      throw new ConfigError(`There is no option ${name}. Options are ${Object.keys(checks).join(', ')}.`, [name]);
    }
    if (value !== undefined) check(name, value);
  }
  if (options.transport === undefined) {
    throw new ConfigError(
      'Option transport is missing: pass createKafkaTransport(…) or a memory cluster’s transport().',
      ['transport'],
    );
  }
  const maxRequestSize = options.maxRequestSize ?? 1_048_576;
  const resolved: ResolvedOptions = {
    transport: options.transport,
    clientId: options.clientId ?? 'sendonce',
    idempotence: options.idempotence ?? true,
    acks: options.acks ?? 'all',
    maxInFlight: options.maxInFlight ?? 5,
    lingerMs: options.lingerMs ?? 5,
    batchSize: options.batchSize ?? Math.min(262_144, maxRequestSize),
    maxRequestSize,
    bufferMemory: options.bufferMemory ?? 33_554_432,
    maxBlockMs: options.maxBlockMs ?? 60_000,
    requestTimeoutMs: options.requestTimeoutMs ?? 30_000,
    deliveryTimeoutMs: options.deliveryTimeoutMs ?? 120_000,
    retryBackoffMs: options.retryBackoffMs ?? 100,
    retryBackoffMaxMs: options.retryBackoffMaxMs ?? 1_000,
    metadataMaxAgeMs: options.metadataMaxAgeMs ?? 300_000,
    producerIdExpirationMs: options.producerIdExpirationMs ?? 86_400_000,
    compression: options.compression ?? 'none',
    partitioner: options.partitioner,
    idempotencyKey: options.idempotencyKey,
    hooks: options.hooks ?? {},
    logger: options.logger,
    runtime: options.runtime ?? platformRuntime,
  };
  checkTogether(resolved);
  return resolved;
}
