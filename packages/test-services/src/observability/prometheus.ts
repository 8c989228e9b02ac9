import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newServiceFolder } from '../databases/account.ts';
import { findProgram } from '../databases/binaries.ts';
import { ServiceProcess } from '../databases/service-process.ts';
import { fetchOnce, run } from '../downloads.ts';
import { startGuardian } from '../guardian.ts';
import { pickPorts } from '../ports.ts';

export interface PrometheusOptions {
  /** `HOST:PORT` of what is scraped, at `/metrics`. */
  readonly targets: readonly string[];
  /** Files with recording and alert rules, absolute. */
  readonly ruleFiles?: readonly string[];
  /** How often it scrapes, and looks at the rules. Default 1,000. */
  readonly intervalMs?: number;
}

export interface Prometheus {
  readonly url: string;
  /** The values of an expression now, by their labels. */
  query(
    expression: string,
  ): Promise<readonly { readonly labels: Readonly<Record<string, string>>; readonly value: number }[]>;
  /** The names of every metric that it knows. */
  metricNames(): Promise<readonly string[]>;
  /** Alerts that are pending or firing, by name. */
  alerts(): Promise<
    readonly { readonly name: string; readonly state: string; readonly labels: Readonly<Record<string, string>> }[]
  >;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * The folder with `prometheus` and `promtool`: of PATH, else out of Debian's package, unpacked and not installed, since an installed one starts as a
 * service.
 */
async function binaries(): Promise<string> {
  const there = findProgram({ name: 'promtool', aptPackage: 'prometheus', urlVariable: '' });
  if (there !== null) return join(there, '..');
  const folder = await fetchOnce('prometheus', unpackDebianPackage).catch((cause: unknown) => {
    throw new Error(
      'prometheus and promtool are needed and were not found, and Debian’s package could not be fetched. Put both on PATH (macOS: brew install prometheus).',
      { cause },
    );
  });
  return join(folder, 'usr', 'bin');
}

async function unpackDebianPackage(folder: string): Promise<void> {
  const download = () => run('apt-get', ['download', 'prometheus'], folder);
  await download().catch(async () => {
    await run('apt-get', ['update'], folder);
    await download();
  });
  const archive = readdirSync(folder).find((name) => name.endsWith('.deb'))!;
  await run('dpkg-deb', ['-x', archive, '.'], folder);
}

/** Runs `promtool`, such as with `['test', 'rules', file]`. Rejects with what it said when it fails. */
export async function promtool(args: readonly string[], folder: string): Promise<void> {
  await run(join(await binaries(), 'promtool'), [...args], folder);
}

/** A Prometheus server on loopback that ends with this process. */
export async function startPrometheus({
  targets,
  ruleFiles = [],
  intervalMs = 1_000,
}: PrometheusOptions): Promise<Prometheus> {
  const program = join(await binaries(), 'prometheus');
  const folder = newServiceFolder('prometheus');
  const guardian = startGuardian(folder);
  const [port] = (await pickPorts(1)) as [number];
  const url = `http://127.0.0.1:${port}`;
  const config = join(folder, 'prometheus.json');
  // JSON is YAML.
  writeFileSync(
    config,
    JSON.stringify({
      global: { scrape_interval: `${intervalMs}ms`, evaluation_interval: `${intervalMs}ms` },
      rule_files: ruleFiles,
      scrape_configs: [{ job_name: 'payments', static_configs: [{ targets }] }],
    }),
  );
  const server = new ServiceProcess({
    name: 'prometheus',
    program,
    args: [
      `--config.file=${config}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    folder,
    guardian,
    answers: async () => (await fetch(`${url}/-/ready`).catch(() => null))?.ok === true,
  });
  await server.start();
  const get = async (path: string): Promise<unknown> => {
    const response = await fetch(`${url}/api/v1/${path}`);
    const { status, data, error } = (await response.json()) as { status: string; data: unknown; error?: string };
    if (status !== 'success') throw new Error(`Prometheus could not answer ${path}: ${error}`);
    return data;
  };
  const close = async (): Promise<void> => {
    await server.end('SIGKILL');
    await guardian.release();
  };
  return {
    url,
    query: async (expression) => {
      const data = (await get(`query?${new URLSearchParams({ query: expression })}`)) as {
        result: { metric: Record<string, string>; value: [number, string] }[];
      };
      return data.result.map(({ metric, value }) => ({ labels: metric, value: Number(value[1]) }));
    },
    metricNames: async () => (await get('label/__name__/values')) as string[],
    alerts: async () => {
      const data = (await get('alerts')) as { alerts: { labels: Record<string, string>; state: string }[] };
      return data.alerts.map(({ labels, state }) => ({ name: labels.alertname!, state, labels }));
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
