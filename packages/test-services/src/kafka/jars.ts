import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { cacheFolder } from '../repository.ts';

/** Versions the tests run on: brokers' rules differ between 3.9 and 4.x. */
export type KafkaVersion = '4.1.1' | '3.9.1';

// The jars come without a logging back end; without one a broker that can't start says nothing.
const loggingBackEnd: Record<KafkaVersion, string> = {
  '4.1.1': 'org.apache.logging.log4j:log4j-slf4j-impl:2.24.3',
  '3.9.1': 'org.slf4j:slf4j-reload4j:1.7.36',
};

const downloadTimeoutMs = 300_000;

export function hasJavaAndMaven(): boolean {
  const answers = (command: string, option: string) => spawnSync(command, [option], { stdio: 'ignore' }).status === 0;
  return answers('java', '-version') && answers('mvn', '-version');
}

function projectFile(version: KafkaVersion): string {
  const dependencies = [
    `org.apache.kafka:kafka_2.13:${version}`,
    `org.apache.kafka:kafka-tools:${version}`,
    loggingBackEnd[version],
  ];
  const elements = dependencies.map((coordinates) => {
    const [group, artifact, number] = coordinates.split(':');
    return `<dependency><groupId>${group}</groupId><artifactId>${artifact}</artifactId><version>${number}</version></dependency>`;
  });
  return `<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>sendonce</groupId><artifactId>kafka-for-tests</artifactId><version>1</version>
<dependencies>${elements.join('')}</dependencies></project>\n`;
}

function run(command: string, args: string[], cwd: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'], timeout: downloadTimeoutMs });
    let output = '';
    const keepTail = (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-4000);
    };
    child.stdout.on('data', keepTail);
    child.stderr.on('data', keepTail);
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0) resolve();
      else reject(new Error(`${command} ${args.join(' ')} ended with ${code}:\n${output}`));
    });
  });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Takes the lock file, or waits while its owner is alive. Returns false when the wait ended because `isDone()`. */
async function lock(file: string, isDone: () => boolean): Promise<boolean> {
  const deadline = performance.now() + downloadTimeoutMs;
  while (!isDone()) {
    try {
      writeFileSync(file, String(process.pid), { flag: 'wx' });
      return true;
    } catch {
      const owner = Number(existsSync(file) ? readFileSync(file, 'utf8') : 0);
      if (owner > 0 && !isAlive(owner)) rmSync(file, { force: true });
      if (performance.now() > deadline)
        throw new Error(`Waited ${downloadTimeoutMs} ms for the process that owns ${file}.`);
      await sleep(100);
    }
  }
  return false;
}

/**
 * The folder with Kafka's jars and their dependencies. The first call fetches them from Maven Central; later ones, in
 * whatever process, find them.
 */
export async function kafkaJars(version: KafkaVersion): Promise<string> {
  const parent = join(cacheFolder, 'kafka');
  const folder = join(parent, version);
  const isDone = () => existsSync(folder);
  if (isDone()) return folder;
  mkdirSync(parent, { recursive: true });
  const lockFile = join(parent, `${version}.lock`);
  if (!(await lock(lockFile, isDone))) return folder;
  const unfinished = join(parent, `${version}.unfinished`);
  try {
    if (isDone()) return folder;
    rmSync(unfinished, { recursive: true, force: true });
    mkdirSync(unfinished, { recursive: true });
    writeFileSync(join(unfinished, 'pom.xml'), projectFile(version));
    await run('mvn', ['-q', '-B', 'dependency:copy-dependencies', '-DoutputDirectory=.'], unfinished);
    renameSync(unfinished, folder);
  } finally {
    rmSync(lockFile, { force: true });
  }
  return folder;
}
