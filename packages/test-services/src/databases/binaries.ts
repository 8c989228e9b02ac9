import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';

export interface Program {
  /** The executable, such as `redis-server`. */
  readonly name: string;
  /** The Debian package that has it. */
  readonly aptPackage: string;
  /** Where it may be beside the folders of PATH. */
  readonly folders?: readonly string[];
  /** The environment variable with the URL of a service to use instead. */
  readonly urlVariable: string;
}

/** Debian keeps the server's programs out of PATH, one folder for each version; the newest comes first. */
export function postgresFolders(): string[] {
  const root = '/usr/lib/postgresql';
  const versions = existsSync(root) ? readdirSync(root).map(Number).filter(Number.isFinite) : [];
  return versions.sort((a, b) => b - a).map((version) => join(root, String(version), 'bin'));
}

export function findProgram({ name, folders = [] }: Program): string | null {
  const searched = [...folders, ...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin'];
  for (const folder of searched) {
    const file = join(folder, name);
    try {
      accessSync(file, constants.X_OK);
      return file;
    } catch {
      // Not there: the next folder.
    }
  }
  return null;
}

/** Installs the program's package where that may be done without asking: as root, with apt-get. */
function installProgram({ aptPackage }: Program): boolean {
  if (process.getuid?.() !== 0 || findProgram({ name: 'apt-get', aptPackage, urlVariable: '' }) === null) return false;
  const apt = (...args: string[]) =>
    spawnSync('apt-get', args, { env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }, stdio: 'ignore' })
      .status === 0;
  const install = () => apt('install', '-y', '--no-install-recommends', aptPackage);
  return install() || (apt('update') && install());
}

/** The path of a program, installed first where that may be done; `null` when it is not to be had that way. */
export function provideProgram(
  program: Program,
  foldersAfterInstall: () => readonly string[] = () => [],
): string | null {
  const found = findProgram(program);
  if (found !== null) return found;
  if (!installProgram(program)) return null;
  return findProgram({ ...program, folders: [...(program.folders ?? []), ...foldersAfterInstall()] });
}

export function dockerAnswers(): boolean {
  return spawnSync('docker', ['info'], { stdio: 'ignore', timeout: 10_000 }).status === 0;
}

/** What the run fails with when a service is not to be had. */
export function missing({ name, aptPackage, urlVariable }: Program): Error {
  return new Error(
    `${name} is needed and was not found. Install it (Debian, Ubuntu: apt-get install ${aptPackage}; macOS: brew install ${aptPackage}), ` +
      `or start Docker, or set ${urlVariable} to a running one.`,
  );
}
