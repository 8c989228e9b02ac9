import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

export interface BrokerHeap {
  /** Entries of producer state: one for each producer id and partition replica. */
  readonly entries: number;
  /** What lives of the classes that an entry is made of. */
  readonly stateBytes: number;
}

/** An entry, its queue of batches, their metadata, and its place in the partition's map. Nothing else has as many of the last three. */
const entryClass = 'org.apache.kafka.storage.internals.log.ProducerStateEntry';
const stateClasses = new Set([
  entryClass,
  'org.apache.kafka.storage.internals.log.BatchMetadata',
  'java.util.ArrayDeque',
  '[Ljava.lang.Object;',
  'java.util.HashMap$Node',
  '[Ljava.util.HashMap$Node;',
  'java.lang.Long',
  'java.util.OptionalLong',
  'java.util.concurrent.ConcurrentHashMap$Node',
]);

const maxOutputBytes = 16 * 1024 * 1024;

/** Collects garbage in the broker's JVM, then counts what is left. */
export async function brokerHeap(pid: number): Promise<BrokerHeap> {
  const { stdout } = await promisify(execFile)('jcmd', [`${pid}`, 'GC.class_histogram'], { maxBuffer: maxOutputBytes });
  let entries = 0;
  let stateBytes = 0;
  for (const line of stdout.split('\n')) {
    const [, instances, bytes, name] = /^\s*\d+:\s+(\d+)\s+(\d+)\s+(\S+)/.exec(line) ?? [];
    if (name === undefined || !stateClasses.has(name)) continue;
    stateBytes += Number(bytes);
    if (name === entryClass) entries = Number(instances);
  }
  return { entries, stateBytes };
}
