import { join } from 'node:path';
import { newServiceFolder } from '../databases/account.ts';
import { ServiceProcess } from '../databases/service-process.ts';
import { fetchOnce, hasJavaAndMaven, run } from '../downloads.ts';
import { startGuardian } from '../guardian.ts';
import { pickPorts } from '../ports.ts';

export interface ZipkinOptions {
  /** Default: a free one. */
  readonly port?: number;
}

/** A span as Zipkin keeps it: attributes are tags, and text; times are microseconds. */
export interface ZipkinSpan {
  readonly traceId: string;
  readonly id: string;
  readonly parentId?: string;
  readonly name: string;
  readonly kind?: string;
  readonly timestamp: number;
  readonly duration: number;
  readonly localEndpoint?: { readonly serviceName?: string };
  readonly tags?: Readonly<Record<string, string>>;
  readonly annotations?: readonly { readonly value: string }[];
}

export interface Zipkin {
  /** `http://127.0.0.1:PORT`; the page is below `/zipkin/`. */
  readonly url: string;
  /** Where exporters send spans. */
  readonly spansUrl: string;
  /** Every span of a trace; none while Zipkin does not know it. */
  trace(traceId: string): Promise<readonly ZipkinSpan[]>;
  /** Traces of a service, the newest first; `annotationQuery` as on the page, such as `error.type=REQUEST_TIMEOUT`. */
  traces(query: {
    serviceName?: string;
    annotationQuery?: string;
    limit?: number;
  }): Promise<readonly (readonly ZipkinSpan[])[]>;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const version = '3.5.1';
const jarName = `zipkin-server-${version}-exec.jar`;

/** The server's jar, from Maven Central: 130 MB once. */
function zipkinJar(): Promise<string> {
  return fetchOnce(join('zipkin', version), (folder) =>
    run(
      'mvn',
      [
        '-q',
        '-B',
        'org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy',
        `-Dartifact=io.zipkin:zipkin-server:${version}:jar:exec`,
        '-DoutputDirectory=.',
      ],
      folder,
    ),
  ).then((folder) => join(folder, jarName));
}

/** A Zipkin server on loopback that ends with this process. Keeps spans in memory. */
export async function startZipkin({ port: wanted }: ZipkinOptions = {}): Promise<Zipkin> {
  if (!hasJavaAndMaven()) {
    throw new Error('Zipkin needs Java 17 and Maven. Debian, Ubuntu: apt-get install openjdk-17-jre-headless maven.');
  }
  const jar = await zipkinJar();
  const folder = newServiceFolder('zipkin');
  const guardian = startGuardian(folder);
  const port = wanted ?? (await pickPorts(1))[0]!;
  const url = `http://127.0.0.1:${port}`;
  const server = new ServiceProcess({
    name: 'zipkin',
    program: 'java',
    // `--server.address` is not heeded: these three bind loopback alone.
    args: [
      '-Xmx256m',
      '-XX:TieredStopAtLevel=1',
      '-jar',
      jar,
      `--armeria.ports[0].port=${port}`,
      '--armeria.ports[0].ip=127.0.0.1',
      '--armeria.ports[0].protocols[0]=http',
    ],
    folder,
    guardian,
    answers: async () => (await fetch(`${url}/health`).catch(() => null))?.ok === true,
  });
  await server.start();
  const get = async (path: string): Promise<unknown> => {
    const response = await fetch(`${url}/api/v2/${path}`);
    if (response.status === 404) return [];
    if (!response.ok) throw new Error(`Zipkin answered ${response.status} to ${path}: ${await response.text()}`);
    return await response.json();
  };
  const close = async (): Promise<void> => {
    await server.end('SIGKILL');
    await guardian.release();
  };
  return {
    url,
    spansUrl: `${url}/api/v2/spans`,
    trace: async (traceId) => (await get(`trace/${traceId}`)) as ZipkinSpan[],
    traces: async (query) => {
      const parameters = Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]);
      return (await get(`traces?${new URLSearchParams(parameters)}`)) as ZipkinSpan[][];
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
