import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { closingLine, readTestCounts } from './test-counts.ts';
import { repositoryRoot } from './workspaces.ts';

/** `npm test`: every suite, then one line with the counts. Arguments go to vitest: `npm test -- packages/transport-memory -t M2`. */
const reports = join(repositoryRoot, 'reports');
const report = join(reports, 'tests.json');
mkdirSync(reports, { recursive: true });
rmSync(report, { force: true });

const { status } = spawnSync(
  process.execPath,
  [
    join(repositoryRoot, 'node_modules/vitest/vitest.mjs'),
    'run',
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${report}`,
    ...process.argv.slice(2),
  ],
  { cwd: repositoryRoot, stdio: 'inherit' },
);
const counts = readTestCounts(report, status);
const line = closingLine(counts);
// For .ci/run: npm itself prints more after this when a test failed.
writeFileSync(join(reports, 'closing-line.txt'), `${line}\n`);
console.log(line);
if (status !== 0 || counts.failed > 0) process.exitCode = 1;
