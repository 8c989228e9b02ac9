import { describe, expect, it } from 'vitest';
import { readSettings, SettingsError } from './settings.ts';

describe('settings from the environment', () => {
  it('have defaults for everything', () => {
    expect(readSettings({})).toEqual({ port: 8080, consumers: true, logLevel: 'info' });
    expect(readSettings({ PORT: '', KAFKA_BROKERS: '', DATABASE_URL: '', REDIS_URL: '' })).toEqual(readSettings({}));
  });

  it('are read', () => {
    const environment = {
      PORT: '0',
      KAFKA_BROKERS: 'one:9092, two:9092',
      DATABASE_URL: 'postgres://localhost/payments',
      REDIS_URL: 'rediss://localhost:6380',
      CONSUMERS: 'off',
      LOG_LEVEL: 'warn',
    };
    expect(readSettings(environment)).toEqual({
      port: 0,
      kafkaBrokers: ['one:9092', 'two:9092'],
      databaseUrl: 'postgres://localhost/payments',
      redisUrl: 'rediss://localhost:6380',
      consumers: false,
      logLevel: 'warn',
    });
  });

  it.each([
    ['PORT', '80 80'],
    ['PORT', '65536'],
    ['PORT', '-1'],
    ['KAFKA_BROKERS', 'secret-host'],
    ['KAFKA_BROKERS', 'kafka://secret:9092'],
    ['DATABASE_URL', 'mysql://user:secret@host/db'],
    ['DATABASE_URL', 'secret'],
    ['REDIS_URL', 'http://user:secret@host'],
    ['CONSUMERS', 'secret'],
    ['LOG_LEVEL', 'secret'],
  ])('%s=%s is an error that names the variable and shows no value', (name, value) => {
    const read = () => readSettings({ [name]: value });
    expect(read).toThrow(SettingsError);
    expect(read).toThrow(name);
    expect(read).not.toThrow(/secret/);
  });
});
