import { join } from 'node:path';
import { expect, it } from 'vitest';
import { tableNames } from './names.ts';
import { schemaSql } from './schema.ts';

it('the shipped migration is what ensureSchema() runs, for the default table', async () => {
  const shipped = join(import.meta.dirname, '..', '..', 'migrations', 'postgres.sql');
  await expect(schemaSql(tableNames())).toMatchFileSnapshot(shipped);
});
