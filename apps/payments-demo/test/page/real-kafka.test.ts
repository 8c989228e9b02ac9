import { type KafkaBehindProxy, startKafkaBehindProxy } from '@sendonce/test-services';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { kafkaFaults } from '../../src/lab/kafka-faults.ts';
import { Lab } from '../../src/lab/lab.ts';
import type { LabTimes } from '../../src/lab/lab-cluster.ts';
import type { Snapshot } from '../../src/lab/snapshot.ts';
import { kafkaPaymentsCluster } from '../../src/system/cluster/kafka-payments-cluster.ts';
import { type PaymentSystem, startPaymentSystem } from '../../src/system/payment-system.ts';

/** Long enough for a broker to start again within a payment's time. */
const times: LabTimes = { requestTimeoutMs: 1_500, deliveryTimeoutMs: 60_000, outageMs: 500 };

let kafka: KafkaBehindProxy;
let system: PaymentSystem;
let lab: Lab;

beforeAll(async () => {
  kafka = await startKafkaBehindProxy({ brokers: 1 });
  const { requestTimeoutMs, deliveryTimeoutMs } = times;
  system = await startPaymentSystem({
    cluster: kafkaPaymentsCluster({ brokers: kafka.bootstrap }),
    database: 'pglite',
    notifications: 'memory',
    port: 0,
    logger: false,
    times: { requestTimeoutMs, deliveryTimeoutMs },
  });
  lab = new Lab({ system, cluster: null, faults: kafkaFaults(kafka, system.events), times });
});

afterAll(async () => {
  lab?.close();
  await system?.close();
  await kafka?.stop();
});

/** The first state that is as wanted. */
function until(isWanted: (snapshot: Snapshot) => boolean): Promise<Snapshot> {
  return new Promise((resolve) => {
    const look = (): void => {
      const snapshot = lab.snapshot();
      if (!isWanted(snapshot)) return;
      stop();
      resolve(snapshot);
    };
    const stop = lab.onChange(look);
    look();
  });
}

const settledAt = (accepted: number) =>
  until(({ audit }) => audit.accepted === accepted && audit.verdict === 'balanced');

const stories = ({ timeline }: Snapshot) => timeline.map(({ parts }) => parts.join(' → '));

it('a lost reply, a killed and a frozen broker on a real Kafka: each payment is stored and applied once', async () => {
  await lab.press('pay-one');
  const first = await settledAt(1);
  expect(first).toMatchObject({ cluster: 'kafka', brokers: [{ broker: 'A', state: 'running' }] });
  expect(first.controls.filter(({ blocked }) => blocked !== null)).toEqual([]);

  await lab.press('lose-reply');
  const afterLoss = await settledAt(2);
  expect(stories(afterLoss)).toContainEqual(
    expect.stringMatching(/no answer in time → same numbers sent again, to broker A → acknowledged: stored once/),
  );

  await lab.press('kill-leader');
  await until(({ brokers }) => brokers[0]!.state === 'dead');
  await expect(lab.press('freeze-leader')).rejects.toThrow(/Wait until it is back/);
  await until(({ audit }) => audit.accepted === 3);
  await until(({ controls }) => controls.every(({ blocked }) => blocked === null));

  await lab.press('freeze-leader');
  await until(({ brokers }) => brokers[0]!.state === 'frozen');
  const last = await settledAt(5);
  expect(last.audit).toMatchObject({ stored: 5, applied: 5, caughtByBroker: null, caughtByKey: 0, unknown: 0 });
  expect(last.partitions.every(({ notebook }) => notebook === null)).toBe(true);
}, 120_000);
