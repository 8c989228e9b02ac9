import { createProducer } from '@sendonce/producer-core';
import { type KafkaCluster, startKafka, withAdmin } from '@sendonce/test-services';
import { type AclEntry, AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } from 'kafkajs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createKafkaTransport } from '../src/index.ts';

// What a client may not do, on a broker that denies what nobody allowed.

const password = 'correct-horse-battery';
let kafka: KafkaCluster;

beforeAll(async () => {
  kafka = await startKafka({
    secured: { users: { writer: password, stranger: password } },
    config: {
      'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
      'super.users': 'User:ANONYMOUS',
    },
  });
  await kafka.createTopic({ topic: 'allowed' });
  await kafka.createTopic({ topic: 'hidden' });
  await kafka.createTopic({ topic: 'read-only' });
  await withAdmin(kafka.bootstrap, (admin) =>
    admin.createAcls({
      acl: [
        allow('writer', 'allowed', AclOperationTypes.WRITE),
        allow('writer', 'read-only', AclOperationTypes.DESCRIBE),
        allow('stranger', 'read-only', AclOperationTypes.DESCRIBE),
      ],
    }),
  );
});
afterAll(() => kafka?.stop());

const allow = (user: string, topic: string, operation: AclOperationTypes): AclEntry => ({
  principal: `User:${user}`,
  host: '*',
  resourceType: AclResourceTypes.TOPIC,
  resourceName: topic,
  resourcePatternType: ResourcePatternTypes.LITERAL,
  operation,
  permissionType: AclPermissionTypes.ALLOW,
});

function producerOf(username: string, idempotence = true) {
  return createProducer({
    transport: createKafkaTransport({
      brokers: kafka.secured!.sasl,
      clientId: username,
      sasl: { mechanism: 'plain', username, password },
    }),
    idempotence,
    logger: { info: () => {}, warn: () => {} },
  });
}

describe('authorization', () => {
  test('a client that may not write anywhere may not write idempotently: told at once, with what to grant', async () => {
    const startMs = performance.now();
    const error: Error = await producerOf('stranger').then(
      () => expect.unreachable(),
      (reason) => reason,
    );
    expect(error).toMatchObject({ name: 'ProtocolError', errorName: 'CLUSTER_AUTHORIZATION_FAILED', retriable: false });
    expect(error.message).toContain('IDEMPOTENT_WRITE');
    expect(performance.now() - startMs).toBeLessThan(5_000);
  });

  test.each([true, false])(
    'a topic that it may see but not write to: an AuthorizationError, certainly not stored (idempotence %s)',
    async (idempotence) => {
      await using producer = await producerOf('writer', idempotence);
      const refused = producer.send({ topic: 'read-only', value: 'v' });
      const stored = producer.send({ topic: 'allowed', value: 'v' });
      await expect(refused).rejects.toMatchObject({
        name: 'AuthorizationError',
        code: 'AUTHORIZATION',
        fate: 'not-stored',
        topic: 'read-only',
        message: expect.stringContaining('Grant it WRITE'),
      });
      expect((await stored).offset).toBeGreaterThanOrEqual(0n);
    },
  );

  test('a topic that it may not see: an AuthorizationError before anything is sent, others unharmed', async () => {
    await using producer = await producerOf('writer');
    const refused = producer.send({ topic: 'hidden', value: 'v' });
    const stored = producer.send({ topic: 'allowed', value: 'v' });
    await expect(refused).rejects.toMatchObject({
      name: 'AuthorizationError',
      code: 'AUTHORIZATION',
      fate: 'not-stored',
      attempts: 0,
      topic: 'hidden',
    });
    expect((await stored).offset).toBeGreaterThanOrEqual(0n);
  });

  test('once the right is granted the same producer goes on', async () => {
    await kafka.createTopic({ topic: 'granted-late' });
    await using producer = await producerOf('writer');
    await expect(producer.send({ topic: 'granted-late', value: 'early' })).rejects.toMatchObject({
      code: 'AUTHORIZATION',
    });
    await withAdmin(kafka.bootstrap, (admin) =>
      admin.createAcls({ acl: [allow('writer', 'granted-late', AclOperationTypes.WRITE)] }),
    );
    expect((await producer.send({ topic: 'granted-late', value: 'late' })).offset).toBe(0n);
    expect((await kafka.readAll('granted-late')).map(({ value }) => String(value))).toEqual(['late']);
  });
});
