import { spawnSync } from 'node:child_process';
import { chownSync, mkdirSync, mkdtempSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { servicesFolder } from '../repository.ts';

/** The user and group of a service's process. Empty: our own. */
export interface Account {
  readonly uid?: number;
  readonly gid?: number;
}

const EXECUTE_FOR_OTHERS = 0o001;

/** PostgreSQL and PgBouncer refuse to run as root: there they get another user, the system's own for them if it has one. */
export function serviceAccount(): Account {
  if (process.getuid?.() !== 0) return {};
  for (const user of ['postgres', 'nobody']) {
    const uid = idOf('-u', user);
    const gid = idOf('-g', user);
    if (uid !== null && gid !== null) return { uid, gid };
  }
  throw new Error('Running as root, and there is neither a user postgres nor a user nobody to start PostgreSQL as.');
}

function idOf(flag: string, user: string): number | null {
  const { status, stdout } = spawnSync('id', [flag, user], { encoding: 'utf8' });
  return status === 0 ? Number(stdout) : null;
}

/** A new folder for one service, which git ignores, or the system's temporary one where `account` can't reach the former. */
export function newServiceFolder(name: string, account: Account = {}): string {
  mkdirSync(servicesFolder, { recursive: true });
  const reachable = account.uid === undefined || everyoneCanEnter(servicesFolder);
  const folder = mkdtempSync(join(reachable ? servicesFolder : tmpdir(), `${name}-`));
  if (account.uid !== undefined) chownSync(folder, account.uid, account.gid ?? account.uid);
  return folder;
}

/** Whether every user can reach what is in the folder. */
export function everyoneCanEnter(folder: string): boolean {
  for (let at = folder; ; at = dirname(at)) {
    if ((statSync(at).mode & EXECUTE_FOR_OTHERS) === 0) return false;
    if (at === dirname(at)) return true;
  }
}
