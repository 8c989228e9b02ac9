import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { listFiles, listWorkspaces, type Manifest, repositoryRoot } from '../workspaces.ts';
import { packageRules } from './rules.ts';
import { boundaryViolations } from './violations.ts';

const root = JSON.parse(readFileSync(join(repositoryRoot, 'package.json'), 'utf8')) as Manifest;
const files = listFiles('.', '**/*.ts').map((path) => ({
  path,
  source: readFileSync(join(repositoryRoot, path), 'utf8'),
}));

const violations = boundaryViolations({
  rules: packageRules,
  workspaces: listWorkspaces(),
  files,
  rootDependencies: Object.keys(root.devDependencies ?? {}),
});
for (const violation of violations) console.error(violation);
if (violations.length > 0) process.exitCode = 1;
else console.log(`${files.length} files keep the package boundaries`);
