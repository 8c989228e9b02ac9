import { ConfigError, createProducer, type ProducerOptions } from '@sendonce/producer-core';
import { createMemoryCluster } from '@sendonce/transport-memory';
import { topic } from './payments.ts';
import { retire } from './retire.ts';
import type { Scene } from './stage.ts';

export const noSilentFallback: Scene = {
  title: 'Nothing is weakened silently',
  async play(stage) {
    stage.say(
      'Some clients switch idempotence off by themselves when another setting does not go with it. Here such settings are refused, with both names and the way out.',
    );
    const cluster = createMemoryCluster({ runtime: stage.runtime, topics: { [topic]: {} } });
    const settings: readonly [claim: string, options: Record<string, unknown>, field: string][] = [
      ["acks: 'leader'", { acks: 'leader' }, 'acks'],
      ['an option that does not exist', { idempotent: true }, 'idempotent'],
    ];
    for (const [claim, options, field] of settings) {
      const outcome = await createProducer({
        transport: cluster.transport(),
        runtime: stage.runtime,
        ...options,
      } as ProducerOptions).catch((error: unknown) => error);
      if (outcome instanceof ConfigError) stage.event(outcome.message);
      stage.check(
        `${claim} is refused`,
        outcome instanceof ConfigError && outcome.fields.includes(field),
        String(outcome),
      );
    }

    stage.say(
      'It can be switched off, by who writes it down. Then the producer says at its start what no longer holds.',
    );
    const warnings: string[] = [];
    const producer = await createProducer({
      transport: cluster.transport(),
      runtime: stage.runtime,
      idempotence: false,
      acks: 'leader',
      logger: { info: () => {}, warn: (message) => warnings.push(message) },
    });
    for (const warning of warnings) stage.event(warning);
    stage.table({
      title: 'producer.guarantees.limits',
      columns: ['what does not hold'],
      rows: producer.guarantees.limits.map((limit) => [limit]),
    });
    stage.checkEqual('it is warned of once, at the start', warnings.length, 1);
    stage.check('and said in producer.guarantees', !producer.guarantees.exactlyOncePerSession);
    await retire(stage, producer);
  },
};
