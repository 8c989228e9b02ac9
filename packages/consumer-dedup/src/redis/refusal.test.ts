import { inspect } from 'node:util';
import { expect, it } from 'vitest';
import { StoreSetupError } from '../errors.ts';
import { withoutCommand } from './refusal.ts';

const signIn = { name: 'hello', args: ['3', 'AUTH', 'default', 'swordfish'] };

it('an error of the client loses the command that it carries, and with it the password', () => {
  const refused = Object.assign(new Error('WRONGPASS invalid username-password pair'), { command: signIn });
  const unknown = new Error(
    'ERR unknown command `HELLO`, with args beginning with: `3`, `AUTH`, `default`, `swordfish`',
  );
  const cluster = Object.assign(new Error('Failed to refresh slots cache.'), { lastNodeError: refused });
  for (const error of [refused, unknown, cluster]) expect(inspect(withoutCommand(error))).not.toContain('swordfish');
  expect(withoutCommand(unknown)).toMatchObject({ message: 'ERR unknown command `HELLO`' });
});

it('a client that may not sign in, or may not do what it must, is a matter of setup', () => {
  for (const code of ['NOAUTH', 'WRONGPASS', 'NOPERM']) {
    expect(withoutCommand(new Error(`${code} no`))).toBeInstanceOf(StoreSetupError);
  }
  const setup = new StoreSetupError('as it is');
  expect(withoutCommand(setup)).toBe(setup);
});
