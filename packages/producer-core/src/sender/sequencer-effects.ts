import type { PartitionQueue } from '../accumulator/partition-queue.ts';
import type { BumpReport, SequencerEffects } from './partition-sequencer.ts';
import { pauseBeforeRetry } from './retry-pause.ts';
import type { SenderPorts } from './sender-ports.ts';
import type { Settlement } from './settlement.ts';

/** What a partition's sequencer decides, carried out. */
export function sequencerEffects(
  queue: PartitionQueue,
  ports: SenderPorts,
  settlement: Settlement,
  wake: (queue: PartitionQueue) => void,
): SequencerEffects {
  const { topic, partition } = queue;
  return {
    acknowledge: (batch, baseOffset) => settlement.acknowledge(batch, baseOffset),
    requeue: (batches) => {
      for (const batch of batches) batch.moveTo('ready');
      queue.ready.unshift(...batches);
    },
    forgotten: (batch) => settlement.releaseIfDone(batch),
    resumeAt: (atMs) => ports.deadlines.set(queue.resume, atMs),
    resolutionStarted: (trigger) => {
      ports.stats.resolutions++;
      ports.observer.event({ type: 'resolving', topic: topic.topic, partition, trigger });
    },
    bumped: (report) => {
      bumped(queue, ports, report);
      wake(queue);
    },
    logWentBack: () => reportDataLoss(queue, ports, 'offset-went-back'),
    requestIdentity: () => ports.requestIdentity(queue),
  };
}

function bumped(queue: PartitionQueue, ports: SenderPorts, report: BumpReport): void {
  const { observer, stats, options } = ports;
  const { trigger, renumbered, dataLossSuspected } = report;
  const { partition, sequencer } = queue;
  const { topic } = queue.topic;
  stats.epochBumps++;
  // A broker that refuses every number must not make the producer count epochs at the speed of its replies.
  if (trigger === 'out-of-order' || trigger === 'unknown-producer') {
    pauseBeforeRetry(queue, ports, options.runtime.monotonicMs());
  }
  if (dataLossSuspected) reportDataLoss(queue, ports, trigger);
  const { producerId, epoch } = sequencer;
  observer.event({ type: 'epoch-bumped', topic, partition, producerId, epoch, trigger, renumbered });
}

const lossWarningGapMs = 60_000;

function reportDataLoss(queue: PartitionQueue, { observer, stats, options }: SenderPorts, trigger: string): void {
  const { partition } = queue;
  const { topic } = queue.topic;
  stats.dataLossSuspected++;
  observer.event({ type: 'data-loss-suspected', topic, partition, trigger });
  const nowMs = options.runtime.monotonicMs();
  if (nowMs - queue.lossWarnedAtMs < lossWarningGapMs) return;
  queue.lossWarnedAtMs = nowMs;
  observer.warn(
    `Partition ${topic}-${partition} does not have what it acknowledged to this producer (${trigger}). ` +
      'Look for an unclean leader election or a log that was cut.',
    'SENDONCE_DATA_LOSS_SUSPECTED',
  );
}
