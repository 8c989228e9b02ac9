import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { dockerAnswers } from '../databases/binaries.ts';
import { hasJavaAndMaven } from '../downloads.ts';
import { type KafkaVersion, kafkaJars } from './jars.ts';

export interface Command {
  readonly program: string;
  readonly args: readonly string[];
}

export type BrokerSignal = 'SIGTERM' | 'SIGKILL' | 'SIGSTOP' | 'SIGCONT';

/** A process that runs until it is signalled. */
export interface LastingCommand extends Command {
  /** The container to remove when we are gone: ending the program that we started does not end it. */
  readonly container: string | undefined;
  signal(pid: number, signal: BrokerSignal): void;
}

/** Where Kafka's Java programs come from, and how they are run. Arguments are those of `java`, without a class path. */
export interface KafkaPrograms {
  /** One that ends by itself. */
  tool(jvmArgs: readonly string[], mainClass: string, args: readonly string[]): Command;
  /** A broker. `name` is unique on this machine. */
  broker(name: string, jvmArgs: readonly string[], propertiesFile: string): LastingCommand;
}

const brokerClass = 'kafka.Kafka';

/** The official image of a version. Its class path, and where `java` is, are the image's own. */
export const kafkaImage = (version: KafkaVersion) => `apache/kafka:${version}`;
const imageClassPath = '/opt/kafka/libs/*';

/**
 * Kafka for tests: Maven Central's jars on this machine's Java; else, where a Docker engine answers, the official image; else an error
 * that says what to install. `folder` holds everything a cluster writes.
 */
export async function kafkaPrograms(version: KafkaVersion, folder: string): Promise<KafkaPrograms> {
  if (hasJavaAndMaven()) return localPrograms(await kafkaJars(version));
  if (dockerAnswers()) return dockerPrograms(kafkaImage(version), folder);
  throw new Error(
    'Kafka for tests needs Java 17 or newer and Maven: install both (Debian, Ubuntu: apt-get install openjdk-17-jre-headless maven; macOS: brew install openjdk maven), ' +
      'or start Docker, or set KAFKA_BROKERS=HOST:PORT,… to use a cluster that is there.',
  );
}

function localPrograms(jars: string): KafkaPrograms {
  const classPath = ['-cp', join(jars, '*')];
  return {
    tool: (jvmArgs, mainClass, args) => ({ program: 'java', args: [...jvmArgs, ...classPath, mainClass, ...args] }),
    broker: (_, jvmArgs, propertiesFile) => ({
      program: 'java',
      args: [...jvmArgs, ...classPath, brokerClass, propertiesFile],
      container: undefined,
      signal: (pid, signal) => process.kill(pid, signal),
    }),
  };
}

const dockerSignal: Readonly<Record<BrokerSignal, readonly string[]>> = {
  SIGTERM: ['kill', '--signal', 'TERM'],
  SIGKILL: ['kill', '--signal', 'KILL'],
  SIGSTOP: ['pause'],
  SIGCONT: ['unpause'],
};

/**
 * The same programs in containers: on the host's network, since brokers listen on loopback and know one another by it, with the
 * cluster's folder at its own path, as the user who asks. (Docker Desktop offers the host's network only where it is switched on.)
 */
function dockerPrograms(image: string, folder: string): KafkaPrograms {
  const user = `${process.getuid?.() ?? 0}:${process.getgid?.() ?? 0}`;
  const run = (name: readonly string[], javaArgs: readonly string[]): Command => ({
    program: 'docker',
    args: [
      ...['run', '--rm', '--interactive', ...name, '--network', 'host', '--user', user],
      ...['--volume', `${folder}:${folder}`, '--entrypoint', 'java', image],
      ...javaArgs,
    ],
  });
  const classPath = ['-cp', imageClassPath];
  return {
    tool: (jvmArgs, mainClass, args) => run([], [...jvmArgs, ...classPath, mainClass, ...args]),
    broker: (name, jvmArgs, propertiesFile) => ({
      ...run(['--name', name], [...jvmArgs, ...classPath, brokerClass, propertiesFile]),
      container: name,
      signal: (_, signal) => {
        execFileSync('docker', [...dockerSignal[signal], name], { stdio: 'ignore' });
      },
    }),
  };
}
