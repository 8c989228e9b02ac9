import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { KafkaCluster } from '@sendonce/test-services';

/** The header of a stored batch, as Kafka's own tool reads it from the broker's log folder. */
export interface DumpedBatch {
  readonly baseOffset: bigint;
  readonly count: number;
  readonly producerId: bigint;
  readonly epoch: number;
  readonly baseSequence: number;
  readonly codec: string;
  readonly isValid: boolean;
}

const batchLine =
  /^baseOffset: (\d+) lastOffset: \d+ count: (\d+) baseSequence: (-?\d+) lastSequence: -?\d+ producerId: (-?\d+) producerEpoch: (-?\d+) .* compresscodec: (\w+) crc: \d+ isvalid: (\w+)/;

/** Batches of these partitions (`topic-0`, …), in the order of the files' names and then of offsets, by partition. */
export async function dumpBatches(
  kafka: KafkaCluster,
  partitions: readonly string[],
): Promise<ReadonlyMap<string, readonly DumpedBatch[]>> {
  const files = partitions.flatMap((partition) => {
    const folder = join(kafka.logDir(1), partition);
    return readdirSync(folder)
      .filter((name) => name.endsWith('.log'))
      .sort()
      .map((name) => join(folder, name));
  });
  const printed = await kafka.runTool('kafka.tools.DumpLogSegments', ['--files', files.join(',')]);
  const found = new Map<string, DumpedBatch[]>(partitions.map((partition) => [partition, []]));
  let current: DumpedBatch[] | undefined;
  for (const line of printed.split('\n')) {
    const file = /^Dumping (\S+)/.exec(line)?.[1];
    if (file) current = found.get(partitions.find((partition) => file.includes(`/${partition}/`)) ?? '');
    const match = batchLine.exec(line);
    if (!match || !current) continue;
    const [, baseOffset, count, baseSequence, producerId, epoch, codec, isValid] = match;
    current.push({
      baseOffset: BigInt(baseOffset!),
      count: Number(count),
      producerId: BigInt(producerId!),
      epoch: Number(epoch),
      baseSequence: Number(baseSequence),
      codec: codec!,
      isValid: isValid === 'true',
    });
  }
  return found;
}
