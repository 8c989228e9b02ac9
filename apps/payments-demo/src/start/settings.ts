/** What the environment says about where things are. */
export interface Settings {
  readonly port: number;
  /** `HOST:PORT` of brokers; absent: none was named. */
  readonly kafkaBrokers?: readonly string[];
  readonly databaseUrl?: string;
  readonly redisUrl?: string;
  /** Whether this process reads the topic too, or takes payments alone. */
  readonly consumers: boolean;
  readonly logLevel: (typeof logLevels)[number];
}

const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const;

export class SettingsError extends Error {
  override readonly name = 'SettingsError';
}

const defaultPort = 8080;

/** @throws {SettingsError} naming the variable. No value is shown: a URL may hold a password. */
export function readSettings(environment: Readonly<Record<string, string | undefined>>): Settings {
  const { PORT, KAFKA_BROKERS, DATABASE_URL, REDIS_URL, CONSUMERS, LOG_LEVEL } = environment;
  return {
    consumers: CONSUMERS ? consumersOf(CONSUMERS) : true,
    logLevel: LOG_LEVEL ? logLevelOf(LOG_LEVEL) : 'info',
    port: PORT ? portOf(PORT) : defaultPort,
    ...(KAFKA_BROKERS ? { kafkaBrokers: brokersOf(KAFKA_BROKERS) } : {}),
    ...(DATABASE_URL ? { databaseUrl: urlOf('DATABASE_URL', DATABASE_URL, ['postgres:', 'postgresql:']) } : {}),
    ...(REDIS_URL ? { redisUrl: urlOf('REDIS_URL', REDIS_URL, ['redis:', 'rediss:']) } : {}),
  };
}

function portOf(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : -1;
  if (port >= 0 && port <= 65_535) return port;
  throw new SettingsError('PORT must be a number from 0 (any free one) to 65535.');
}

function logLevelOf(text: string): Settings['logLevel'] {
  const level = logLevels.find((each) => each === text);
  if (level !== undefined) return level;
  throw new SettingsError(`LOG_LEVEL must be one of ${logLevels.join(', ')}.`);
}

function consumersOf(text: string): boolean {
  if (text === 'on' || text === 'off') return text === 'on';
  throw new SettingsError('CONSUMERS must be on or off.');
}

function brokersOf(text: string): string[] {
  const brokers = text.split(',').map((address) => address.trim());
  if (brokers.every((address) => /^[^\s:/]+:\d{1,5}$/.test(address))) return brokers;
  throw new SettingsError('KAFKA_BROKERS must be HOST:PORT, or several with commas between.');
}

function urlOf(name: string, text: string, protocols: readonly string[]): string {
  if (URL.canParse(text) && protocols.includes(new URL(text).protocol)) return text;
  throw new SettingsError(
    `${name} must be a URL that begins with ${protocols.map((each) => `${each}//`).join(' or ')}.`,
  );
}
