import { execFile, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { KafkaCluster } from '@sendonce/test-services';
import type { Load, Row } from './bars.ts';
import type { Figures } from './load.ts';
import type { SubjectSetup } from './subjects.ts';

const run = promisify(execFile);
const clientTimeoutMs = 120_000;
const buildTimeoutMs = 240_000;
const source = import.meta.dirname;
const keys = 1_000;

export interface RunnersOptions {
  readonly kafka: KafkaCluster;
  readonly bootstrap: readonly string[];
  /** For what is built. */
  readonly folder: string;
  readonly seconds: string;
  readonly valueBytes: number;
  readonly partitions: number;
  readonly compression: 'zstd' | 'lz4' | undefined;
  readonly ca: string | undefined;
  readonly caFile: string | undefined;
}

/** Each client in a process of its own, for one load on one topic. */
export class Runners {
  readonly #options: RunnersOptions;
  readonly hasGo = spawnSync('go', ['version']).status === 0;

  constructor(options: RunnersOptions) {
    this.#options = options;
  }

  async probe(topic: string, load: Load): Promise<Row> {
    const { bootstrap, seconds, valueBytes, caFile } = this.#options;
    const mode = load === 'enqueue' ? ['enqueue', '1'] : ['send', load];
    const tls = caFile === undefined ? [] : [caFile];
    const args = [join(source, 'probe.mjs'), bootstrap[0]!, topic, ...mode, seconds, `${valueBytes}`, ...tls];
    const { stdout } = await run(process.execPath, args, { timeout: clientTimeoutMs });
    return JSON.parse(stdout) as Figures;
  }

  async subject(name: string, topic: string, load: Load): Promise<Row> {
    const { bootstrap, seconds, valueBytes, partitions, compression, ca } = this.#options;
    const setup: SubjectSetup = { bootstrap, topic, valueBytes, partitions, compression, ca };
    const flags = ['--conditions=@sendonce/source', '--disable-warning=TimeoutNegativeWarning'];
    const args = [...flags, join(source, 'run-subject.ts'), name, JSON.stringify(setup), load, seconds];
    const { stdout } = await run(process.execPath, args, { timeout: clientTimeoutMs });
    return JSON.parse(stdout.trim().split('\n').at(-1)!) as Figures;
  }

  /** Its values are random bytes, and have no keys. */
  async java(topic: string): Promise<Row> {
    const { kafka, bootstrap, seconds, valueBytes, compression = 'none' } = this.#options;
    const output = await kafka.runTool('org.apache.kafka.tools.ProducerPerformance', [
      '--topic',
      topic,
      '--num-records',
      `${Math.round((200_000 * Number(seconds) * 100) / Math.max(100, valueBytes))}`,
      '--record-size',
      `${valueBytes}`,
      '--throughput',
      '-1',
      '--producer-props',
      `bootstrap.servers=${bootstrap.join(',')}`,
      'acks=all',
      'enable.idempotence=true',
      `compression.type=${compression}`,
    ]);
    return { recordsPerSecond: Math.round(Number(/([\d.]+) records\/sec[^\n]*99th/.exec(output)?.[1])) };
  }

  async franzGo(topic: string): Promise<Row> {
    const { bootstrap, seconds, valueBytes, partitions, compression = 'none', folder } = this.#options;
    const binary = join(folder, 'franz-go-load');
    if (!existsSync(binary)) {
      await run('go', ['build', '-mod=mod', '-o', binary, '.'], {
        cwd: join(source, 'franz-go'),
        timeout: buildTimeoutMs,
      });
    }
    const keyCount = partitions === 1 ? 0 : keys;
    const args = [bootstrap.join(','), topic, seconds, `${valueBytes}`, `${keyCount}`, compression];
    const { stdout } = await run(binary, args, { timeout: clientTimeoutMs });
    return JSON.parse(stdout) as Figures;
  }
}
