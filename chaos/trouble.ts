import { setTimeout as sleep } from 'node:timers/promises';
import { type KafkaBehindProxy, rawRequest } from '@sendonce/test-services';

/** What happened to the brokers, counted. The proxy counts what happened on the way. */
export type BrokerTrouble = 'frozen' | 'killed' | 'connections reset' | 'leaders moved back';

const frozenMs = { least: 1_000, most: 12_000 };
const downMs = { least: 500, most: 3_000 };
const pauseMs = { least: 1_000, most: 4_000 };
const electLeaders = 43;

/** Elects the preferred leader of every partition: leadership moves back to where failures took it from. */
async function moveLeadersBack({ kafka }: KafkaBehindProxy, brokerId: number): Promise<void> {
  const body = Buffer.alloc(9);
  body.writeInt32BE(-1, 1); // every partition
  body.writeInt32BE(5_000, 5);
  await rawRequest(kafka.brokerPort(brokerId), electLeaders, 1, body, 6_000);
}

/**
 * Freezes, kills and restarts brokers, one at a time, so that replication 3 with two in-sync replicas always has a way on.
 * Ends, with every broker running, soon after `signal` aborts.
 */
export async function troubleBrokers(
  cluster: KafkaBehindProxy,
  random: () => number,
  signal: AbortSignal,
  note: (text: string) => void,
): Promise<Map<BrokerTrouble, number>> {
  const { kafka, proxy } = cluster;
  const counts = new Map<BrokerTrouble, number>();
  const between = ({ least, most }: { least: number; most: number }) => least + random() * (most - least);
  const pause = (ms: number) => sleep(ms, undefined, { signal }).catch(() => {});
  while (!signal.aborted) {
    await pause(between(pauseMs));
    const brokerId = 1 + Math.floor(random() * kafka.brokerIds.length);
    const draw = random();
    let what: BrokerTrouble;
    if (draw < 0.35) {
      what = 'frozen';
      note(`broker ${brokerId} frozen`);
      kafka.freeze(brokerId);
      await pause(between(frozenMs));
      kafka.resume(brokerId);
      note(`broker ${brokerId} resumed`);
    } else if (draw < 0.6) {
      what = 'killed';
      note(`broker ${brokerId} killed`);
      await kafka.kill(brokerId);
      await pause(between(downMs));
      await kafka.restart(brokerId);
      note(`broker ${brokerId} restarted`);
    } else if (draw < 0.8) {
      what = 'connections reset';
      note(`connections to broker ${brokerId} reset`);
      proxy.resetConnections(brokerId);
    } else {
      what = 'leaders moved back';
      note('leaders moved back');
      await moveLeadersBack(cluster, brokerId).catch(() => {}); // no controller for the moment
    }
    counts.set(what, (counts.get(what) ?? 0) + 1);
  }
  return counts;
}
