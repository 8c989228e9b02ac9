import { execFile, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Load, Row } from './bars.ts';
import type { Figures } from './load.ts';
import type { SubjectSetup } from './subjects.ts';
import type { Target } from './target.ts';

const run = promisify(execFile);
const clientTimeoutMs = 120_000;
const buildTimeoutMs = 240_000;
const source = import.meta.dirname;
const keys = 1_000;

export interface RunnersOptions {
  readonly target: Target;
  /** For what is built. */
  readonly folder: string;
  readonly seconds: string;
  readonly valueBytes: number;
  readonly partitions: number;
  readonly compression: 'zstd' | 'lz4' | undefined;
  /** Where the target's `ca` is written, for programs that read it from a file. */
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
    const { target, seconds, valueBytes, caFile } = this.#options;
    const mode = load === 'enqueue' ? ['enqueue', '1'] : ['send', load];
    const tls = caFile === undefined ? [] : [caFile];
    const args = [join(source, 'probe.mjs'), target.bootstrap[0]!, topic, ...mode, seconds, `${valueBytes}`, ...tls];
    const { stdout } = await run(process.execPath, args, { timeout: clientTimeoutMs });
    return JSON.parse(stdout) as Figures;
  }

  async subject(name: string, topic: string, load: Load): Promise<Row> {
    const { target, seconds, valueBytes, partitions, compression } = this.#options;
    const { bootstrap, ca } = target;
    const setup: SubjectSetup = { bootstrap, topic, valueBytes, partitions, compression, ca };
    const flags = ['--conditions=@sendonce/source', '--disable-warning=TimeoutNegativeWarning'];
    const args = [...flags, join(source, 'run-subject.ts'), name, JSON.stringify(setup), load, seconds];
    const { stdout } = await run(process.execPath, args, { timeout: clientTimeoutMs });
    return JSON.parse(stdout.trim().split('\n').at(-1)!) as Figures;
  }

  /** Its values are random bytes, and have no keys. */
  async java(topic: string): Promise<Row> {
    const { target, seconds, valueBytes, compression = 'none' } = this.#options;
    const { kafka, bootstrap } = target;
    if (!kafka) throw new Error("Java's tool needs a real Kafka.");
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
    const { target, seconds, valueBytes, partitions, compression = 'none', folder } = this.#options;
    const binary = join(folder, 'franz-go-load');
    if (!existsSync(binary)) {
      await run('go', ['build', '-mod=mod', '-o', binary, '.'], {
        cwd: join(source, 'franz-go'),
        timeout: buildTimeoutMs,
      });
    }
    const keyCount = partitions === 1 ? 0 : keys;
    const args = [target.bootstrap.join(','), topic, seconds, `${valueBytes}`, `${keyCount}`, compression];
    const { stdout } = await run(binary, args, { timeout: clientTimeoutMs });
    return JSON.parse(stdout) as Figures;
  }
}
