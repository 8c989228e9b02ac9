import { ConfigError, createProducer } from '@sendonce/producer-core';
import { protocolErrorName } from '@sendonce/producer-core/transport';
import { createMemoryCluster } from '@sendonce/transport-memory';
import { notebookTable } from './cluster-views.ts';
import { payment, topic } from './payments.ts';
import { produceRaw } from './raw-produce.ts';
import { retire } from './retire.ts';
import type { Scene, Stage } from './stage.ts';

export const fiveInFlight: Scene = {
  title: 'Five in flight, and why not six',
  async play(stage) {
    stage.say(
      'The notebook has room for five batches of each producer. Suppose a client had six in flight, all six were stored, and all six replies were lost. ' +
        'Our producer can’t be made to do that, so this one is written by hand.',
    );
    const cluster = createMemoryCluster({ runtime: stage.runtime, topics: { [topic]: {} } });
    const transport = cluster.transport();
    await transport.connect();
    const identity = await transport.initProducerId();
    for (let sequence = 0; sequence < 6; sequence += 1) {
      await produceRaw(transport, { ...identity, baseSequence: sequence }, payment(sequence));
    }
    stage.table(notebookTable(cluster, 0));
    const oldest = await produceRaw(transport, { ...identity, baseSequence: 0 }, payment(0));
    const second = await produceRaw(transport, { ...identity, baseSequence: 1 }, payment(1));
    stage.checkEqual(
      'the repeat of the sixth-last is answered “out of order”, although it is stored',
      protocolErrorName(oldest.errorCode),
      'OUT_OF_ORDER_SEQUENCE_NUMBER',
    );
    stage.checkEqual(
      'the repeat of the fifth-last is recognised, at offset 1',
      [second.errorCode, second.baseOffset],
      [0, 1n],
    );
    await transport.close();

    stage.say('So six with idempotence is refused, before anything is sent.');
    const refusal = await createProducer({
      transport: cluster.transport(),
      runtime: stage.runtime,
      maxInFlight: 6,
    }).catch((error: unknown) => error);
    if (refusal instanceof ConfigError) stage.event(refusal.message);
    stage.check(
      'maxInFlight: 6 is a ConfigError that names both settings',
      refusal instanceof ConfigError && ['maxInFlight', 'idempotence'].every((name) => refusal.fields.includes(name)),
      String(refusal),
    );

    stage.say('Five is no bottleneck. Forty batches, on a connection with a delay of 20 ms each way:');
    await keepFiveInFlight(stage);
  },
};

async function keepFiveInFlight(stage: Stage): Promise<void> {
  const cluster = createMemoryCluster({ runtime: stage.runtime, topics: { [topic]: {} }, latencyMs: 20 });
  let inFlight = 0;
  let most = 0;
  const producer = await createProducer({
    transport: cluster.transport(),
    runtime: stage.runtime,
    lingerMs: 0,
    hooks: {
      onAttemptStarted: () => {
        inFlight += 1;
        most = Math.max(most, inFlight);
      },
      onAttemptEnded: () => {
        inFlight -= 1;
      },
    },
  });
  await producer.send(payment(0));
  const startedAtMs = stage.runtime.monotonicMs();
  const sending = [];
  for (let number = 1; number <= 40; number += 1) {
    sending.push(producer.send(payment(number)));
    await stage.wait(8);
  }
  const places = await Promise.all(sending);
  stage.event(
    `40 records in ${Math.round(stage.runtime.monotonicMs() - startedAtMs)} ms; one at a time would take ${40 * 40} ms`,
  );
  await retire(stage, producer);
  stage.checkEqual('at most five were in flight, and five were', most, 5);
  stage.checkEqual(
    'all are stored in send order',
    places.map(({ offset }) => Number(offset)),
    Array.from({ length: 40 }, (_, index) => index + 1),
  );
}
