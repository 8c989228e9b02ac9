import { existsSync, globSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

/** The parts of a package.json that the scripts read. */
export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly private?: boolean;
  readonly scripts?: Readonly<Record<string, string>>;
  readonly exports?: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

export interface Workspace {
  /** Path from the repository's root, with forward slashes: `packages/producer-core`. */
  readonly folder: string;
  readonly manifest: Manifest;
}

export const repositoryRoot = join(import.meta.dirname, '..');

function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(repositoryRoot, folder, 'package.json'), 'utf8')) as Manifest;
}

/** Every package of the repository, in a fixed order. A folder without a package.json (left over from another commit) is none. */
export function listWorkspaces(): Workspace[] {
  const { workspaces } = JSON.parse(readFileSync(join(repositoryRoot, 'package.json'), 'utf8')) as {
    workspaces: string[];
  };
  return workspaces
    .flatMap((pattern) => globSync(pattern, { cwd: repositoryRoot }))
    .map((folder) => folder.replaceAll('\\', '/'))
    .filter((folder) => existsSync(join(repositoryRoot, folder, 'package.json')))
    .sort()
    .map((folder) => ({ folder, manifest: readManifest(folder) }));
}

/** The packages that go to the registry. */
export function publishedWorkspaces(): Workspace[] {
  return listWorkspaces().filter(({ manifest }) => manifest.private !== true);
}

/** Files below `folder` that match `pattern`, as paths from the repository's root; never those of node_modules or dist. */
export function listFiles(folder: string, pattern: string): string[] {
  return globSync(pattern, {
    cwd: join(repositoryRoot, folder),
    exclude: (path) => /(^|[\\/])(node_modules|dist|\.[^\\/]+)$/.test(path),
  })
    .map((file) => relative(repositoryRoot, join(repositoryRoot, folder, file)).replaceAll('\\', '/'))
    .sort();
}
