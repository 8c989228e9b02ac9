import { spawn } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Ends services when this process ends, however it ends: SIGKILL included, of which no handler would hear.
 *
 * A shell outside our process group waits for its input to close, which the system does for us when we die. Then it kills
 * every process that has a file `<name>.pid` in the folder, removes the containers named in `<name>.container`, and the folder.
 */
export interface Guardian {
  /** From now on, `pid` is killed when this process ends, and the Docker container removed that it is the client of. */
  watch(name: string, pid: number, container?: string): void;
  /** The process has ended by itself: its number may belong to somebody else soon. */
  forget(name: string): void;
  /** Resolves when everything still watched is killed and the folder is removed. */
  release(): Promise<void>;
}

const script = `cat > /dev/null
for file in "$1"/*.container; do [ -f "$file" ] && docker rm --force "$(cat "$file")" > /dev/null 2>&1; done
for file in "$1"/*.pid; do [ -f "$file" ] && kill -9 "$(cat "$file")" 2> /dev/null; done
for try in 1 2 3 4 5; do rm -rf "$1" 2> /dev/null && break; sleep 0.2; done`;

export function startGuardian(folder: string): Guardian {
  const shell = spawn('sh', ['-c', script, 'guardian', folder], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const ended = new Promise<void>((resolve) => shell.once('close', () => resolve()));
  shell.unref();
  // The pipe alone must not keep a process alive whose tests are over.
  (shell.stdin as unknown as { unref(): void }).unref();
  const fileOf = (name: string, kind: 'pid' | 'container') => join(folder, `${name}.${kind}`);
  return {
    watch: (name, pid, container) => {
      writeFileSync(fileOf(name, 'pid'), String(pid));
      if (container !== undefined) writeFileSync(fileOf(name, 'container'), container);
    },
    forget: (name) => {
      rmSync(fileOf(name, 'pid'), { force: true });
      rmSync(fileOf(name, 'container'), { force: true });
    },
    release() {
      shell.ref();
      shell.stdin.end();
      return ended;
    },
  };
}
