import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { crashTable } from './crash-table.ts';

it('D9: the matrix in the README is the one that the tests enforce', () => {
  const readme = readFileSync(join(import.meta.dirname, '..', '..', 'README.md'), 'utf8');
  expect(readme).toContain(crashTable());
});
