import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { publishedWorkspaces, repositoryRoot, type Workspace } from './workspaces.ts';

interface PackedPackage {
  readonly filename: string;
  readonly files: readonly { readonly path: string }[];
}

/** What is wrong with a package as npm would publish it: the tarball is looked at, not the folder. */
async function problemsOf({ folder, manifest }: Workspace, packFolder: string): Promise<string[]> {
  const report = execFileSync(
    'npm',
    ['pack', '--json', '--loglevel=error', '--ignore-scripts', '--pack-destination', packFolder],
    {
      cwd: join(repositoryRoot, folder),
      encoding: 'utf8',
    },
  );
  const parsed = JSON.parse(report) as PackedPackage[] | Record<string, PackedPackage>;
  const [packed] = Object.values(parsed);
  if (packed === undefined) return ['npm pack made no tarball'];
  const tarball = join(packFolder, packed.filename);
  const problems: string[] = [];

  // Nothing is built here; whoever packs a fresh clone must not get a tarball without `dist`.
  if (manifest.scripts?.prepack !== 'npm run build') {
    problems.push('a fresh clone would be packed without dist; add "prepack": "npm run build" to its scripts');
  }
  const paths = packed.files.map(({ path }) => path);
  if (!paths.some((path) => path.startsWith('dist/'))) problems.push('the tarball has no dist; run "npm run build"');
  for (const required of ['README.md', 'LICENSE']) {
    if (!paths.includes(required)) problems.push(`the tarball has no ${required}; add ${folder}/${required}`);
  }
  const tests = paths.filter((path) => /\.(test|testkit)\.|tsbuildinfo$/.test(path));
  if (tests.length > 0) problems.push(`the tarball ships ${tests.join(', ')}; leave it out in package.json "files"`);

  const bytes = readFileSync(tarball);
  const archive = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
  const { messages } = await publint({ pack: { tarball: archive as ArrayBuffer }, level: 'warning' });
  problems.push(
    ...messages.map(
      (message) => `publint: ${formatMessage(message, { ...manifest }, { color: false }) ?? message.code}`,
    ),
  );

  const types = spawnSync(
    process.execPath,
    [
      join(repositoryRoot, 'node_modules/@arethetypeswrong/cli/dist/index.js'),
      tarball,
      '--profile',
      'esm-only',
      '--no-color',
      '--no-emoji',
    ],
    { encoding: 'utf8' },
  );
  if (types.status !== 0) problems.push(`arethetypeswrong: ${types.stdout}${types.stderr}`);
  return problems;
}

const packFolder = mkdtempSync(join(tmpdir(), 'sendonce-pack-'));
try {
  for (const workspace of publishedWorkspaces()) {
    const problems = await problemsOf(workspace, packFolder);
    for (const problem of problems) console.error(`${workspace.folder}: ${problem}`);
    if (problems.length > 0) process.exitCode = 1;
    else console.log(`${workspace.manifest.name}: fit to publish`);
  }
} finally {
  rmSync(packFolder, { recursive: true, force: true });
}
