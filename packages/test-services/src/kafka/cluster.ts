import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Guardian, startGuardian } from '../guardian.ts';
import { pickPorts } from '../ports.ts';
import { servicesFolder } from '../repository.ts';
import { BrokerProcess, type BrokerState } from './broker-process.ts';
import { type BrokerPorts, brokerProperties, type SecuredListeners } from './broker-properties.ts';
import { type Certificates, makeCertificates } from './certificates.ts';
import type { KafkaVersion } from './jars.ts';
import { type KafkaPrograms, kafkaPrograms } from './programs.ts';
import { waitUntilReady } from './readiness.ts';
import { formatStorage } from './storage.ts';
import { createTopics, type NewTopic, readAllRecords, type StoredRecord } from './topics.ts';

export interface KafkaOptions {
  /** Broker ids are 1 to this number. Default 1. */
  readonly brokers?: 1 | 3;
  /** Default 4.1.1. */
  readonly version?: KafkaVersion;
  /** More lines of `server.properties`, for every broker. */
  readonly config?: Readonly<Record<string, string | number | boolean>>;
  /** Ports of a proxy, one for each broker: a listener advertises them; `proxiedPorts` says where the proxy must lead. */
  readonly advertise?: readonly number[];
  /** Adds listeners with TLS, with SASL, and with both. */
  readonly secured?: SecuredListeners;
  /** Default: a small heap and a compiler that starts fast. Benchmarks pass their own. */
  readonly jvmArgs?: readonly string[];
}

/** Addresses of the listeners that `KafkaOptions.secured` adds. */
export interface SecuredBootstrap {
  readonly tls: readonly string[];
  readonly sasl: readonly string[];
  readonly saslTls: readonly string[];
  /** PEM, to pass as `ssl.ca`. */
  readonly ca: string;
}

export interface KafkaCluster extends AsyncDisposable {
  readonly brokerIds: readonly number[];
  /** `host:port` of every broker's plain listener, behind no proxy. */
  readonly bootstrap: readonly string[];
  /** Where a proxy leads to, in the order of the broker ids. Empty without `advertise`. */
  readonly proxiedPorts: readonly number[];
  readonly secured: SecuredBootstrap | undefined;
  brokerPort(brokerId: number): number;
  pid(brokerId: number): number;
  state(brokerId: number): BrokerState;
  /** The folder with a folder for each partition, as `kafka.tools.DumpLogSegments` reads it. */
  logDir(brokerId: number): string;
  /** Stops a broker where it stands (SIGSTOP): connections stay open, nothing is answered. */
  freeze(brokerId: number): void;
  resume(brokerId: number): void;
  /** SIGKILL, now. */
  kill(brokerId: number): Promise<void>;
  /** Stops a running broker in an orderly way, starts it, and waits until it answers. Starts one that was killed. */
  restart(brokerId: number): Promise<void>;
  createTopic(topic: NewTopic): Promise<void>;
  /** What a topic holds now, read by kafkajs's consumer. */
  readAll(topic: string): Promise<StoredRecord[]>;
  /** Runs one of Kafka's Java tools, with `input` as its standard input; resolves with what it printed. */
  runTool(mainClass: string, args: readonly string[], input?: string): Promise<string>;
  /** Ends every broker and removes their data. */
  stop(): Promise<void>;
}

const defaultJvmArgs = ['-Xms256m', '-Xmx512m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1'];
const toolJvmArgs = ['-Xmx256m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Xshare:auto'];
const readyTimeoutMs = 90_000;
const stopTimeoutMs = 20_000;
const maxToolOutputBytes = 64 * 1024 * 1024;

const log4j2Properties = `rootLogger.level = WARN
rootLogger.appenderRef.stdout.ref = STDOUT
appender.stdout.type = Console
appender.stdout.name = STDOUT
appender.stdout.layout.type = PatternLayout
appender.stdout.layout.pattern = %d{ISO8601} %p %m (%c)%n
`;
const log4j1Properties = `log4j.rootLogger=WARN, stdout
log4j.appender.stdout=org.apache.log4j.ConsoleAppender
log4j.appender.stdout.layout=org.apache.log4j.PatternLayout
log4j.appender.stdout.layout.ConversionPattern=%d{ISO8601} %p %m (%c)%n
`;

const addresses = (ports: readonly number[]) => ports.map((port) => `127.0.0.1:${port}`);

async function pickBrokerPorts(count: number): Promise<BrokerPorts[]> {
  const names = ['direct', 'controller', 'proxied', 'tls', 'sasl', 'saslTls'] as const;
  const ports = await pickPorts(count * names.length);
  return Array.from({ length: count }, (_, i) => {
    const own = ports.slice(i * names.length, (i + 1) * names.length);
    return Object.fromEntries(names.map((name, j) => [name, own[j]])) as unknown as BrokerPorts;
  });
}

/** 22 letters, the first not a dash: Kafka's tool would take that for an option. */
function newClusterId(): string {
  const id = randomBytes(16).toString('base64url');
  return id.startsWith('-') ? newClusterId() : id;
}

/** Starts brokers on loopback ports that it picks; resolves when every broker answers. */
export async function startOwnKafka(options: KafkaOptions = {}): Promise<KafkaCluster> {
  const { brokers: count = 1, version = '4.1.1', advertise, secured } = options;
  const name = `kafka-${process.pid}-${randomBytes(4).toString('hex')}`;
  const folder = join(servicesFolder, name);
  const programs = await kafkaPrograms(version, folder);
  mkdirSync(folder, { recursive: true });
  const guardian = startGuardian(folder);
  try {
    writeFileSync(join(folder, 'log4j2.properties'), log4j2Properties);
    writeFileSync(join(folder, 'log4j.properties'), log4j1Properties);
    const loggingArgs = [
      `-Dlog4j2.configurationFile=${join(folder, 'log4j2.properties')}`,
      `-Dlog4j.configuration=file:${join(folder, 'log4j.properties')}`,
    ];
    const certificates = secured ? makeCertificates(folder) : undefined;
    const ports = await pickBrokerPorts(count);
    const jvmArgs = [...(options.jvmArgs ?? defaultJvmArgs), ...loggingArgs];
    const clusterId = newClusterId();
    const voters = ports.map(({ controller }, i) => ({ brokerId: i + 1, controllerPort: controller }));
    const processes = await Promise.all(
      ports.map(async (own, i) => {
        const brokerId = i + 1;
        const brokerFolder = join(folder, `broker-${brokerId}`);
        mkdirSync(brokerFolder);
        const propertiesFile = join(brokerFolder, 'server.properties');
        const text = brokerProperties({
          brokerId,
          ports: own,
          logDir: join(brokerFolder, 'data'),
          voters,
          advertisedProxyPort: advertise?.[i],
          secured: secured && certificates ? { ...secured, certificates } : undefined,
          overrides: options.config,
        });
        writeFileSync(propertiesFile, text);
        await formatStorage(programs, propertiesFile, clusterId, [...toolJvmArgs, ...loggingArgs], secured?.users);
        const command = programs.broker(`${name}-broker-${brokerId}`, jvmArgs, propertiesFile);
        return new BrokerProcess({ brokerId, folder: brokerFolder, command, guardian });
      }),
    );
    const cluster = new OwnKafkaCluster({
      folder,
      programs,
      guardian,
      processes,
      ports,
      certificates,
      isProxied: advertise !== undefined,
      loggingArgs,
    });
    await cluster.start();
    return cluster;
  } catch (error) {
    await guardian.release();
    throw error;
  }
}

interface OwnClusterParts {
  readonly folder: string;
  readonly programs: KafkaPrograms;
  readonly guardian: Guardian;
  readonly processes: readonly BrokerProcess[];
  readonly ports: readonly BrokerPorts[];
  readonly certificates: Certificates | undefined;
  readonly isProxied: boolean;
  readonly loggingArgs: readonly string[];
}

class OwnKafkaCluster implements KafkaCluster {
  readonly brokerIds: readonly number[];
  readonly bootstrap: readonly string[];
  readonly proxiedPorts: readonly number[];
  readonly secured: SecuredBootstrap | undefined;
  readonly #parts: OwnClusterParts;
  #stopping: Promise<void> | undefined;

  constructor(parts: OwnClusterParts) {
    const { processes, ports, certificates, isProxied } = parts;
    this.#parts = parts;
    this.brokerIds = processes.map(({ brokerId }) => brokerId);
    this.bootstrap = addresses(ports.map(({ direct }) => direct));
    this.proxiedPorts = isProxied ? ports.map(({ proxied }) => proxied) : [];
    this.secured = certificates && {
      ca: certificates.ca,
      tls: addresses(ports.map(({ tls }) => tls)),
      sasl: addresses(ports.map(({ sasl }) => sasl)),
      saslTls: addresses(ports.map(({ saslTls }) => saslTls)),
    };
  }

  async start(): Promise<void> {
    for (const broker of this.#parts.processes) broker.start();
    await Promise.all(this.#parts.processes.map((broker) => this.#waitUntilReady(broker, this.brokerIds.length)));
  }

  brokerPort(brokerId: number): number {
    return this.#ports(brokerId).direct;
  }

  pid(brokerId: number): number {
    return this.#broker(brokerId).pid;
  }

  state(brokerId: number): BrokerState {
    return this.#broker(brokerId).state;
  }

  logDir(brokerId: number): string {
    this.#broker(brokerId);
    return join(this.#parts.folder, `broker-${brokerId}`, 'data');
  }

  freeze(brokerId: number): void {
    this.#broker(brokerId).freeze();
  }

  resume(brokerId: number): void {
    this.#broker(brokerId).resume();
  }

  kill(brokerId: number): Promise<void> {
    return this.#broker(brokerId).kill();
  }

  async restart(brokerId: number): Promise<void> {
    const broker = this.#broker(brokerId);
    await broker.stop(stopTimeoutMs);
    broker.start();
    await this.#waitUntilReady(broker, 1);
  }

  createTopic(topic: NewTopic): Promise<void> {
    return createTopics(this.bootstrap, [topic]);
  }

  readAll(topic: string): Promise<StoredRecord[]> {
    return readAllRecords(this.bootstrap, topic);
  }

  async runTool(mainClass: string, args: readonly string[], input = ''): Promise<string> {
    const { programs, loggingArgs } = this.#parts;
    const command = programs.tool([...toolJvmArgs, ...loggingArgs], mainClass, args);
    const running = promisify(execFile)(command.program, [...command.args], { maxBuffer: maxToolOutputBytes });
    running.child.stdin?.end(input);
    return (await running).stdout;
  }

  stop(): Promise<void> {
    this.#stopping ??= (async () => {
      await Promise.all(this.#parts.processes.map((broker) => broker.kill()));
      await this.#parts.guardian.release();
    })();
    return this.#stopping;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  #waitUntilReady(broker: BrokerProcess, brokers: number): Promise<void> {
    return waitUntilReady(this.brokerPort(broker.brokerId), brokers, readyTimeoutMs, () => broker.assertAlive());
  }

  #broker(brokerId: number): BrokerProcess {
    const broker = this.#parts.processes.find((b) => b.brokerId === brokerId);
    if (!broker) throw new Error(`There is no broker ${brokerId}; ids are ${this.brokerIds.join(', ')}.`);
    return broker;
  }

  #ports(brokerId: number): BrokerPorts {
    this.#broker(brokerId);
    return this.#parts.ports[brokerId - 1]!;
  }
}
