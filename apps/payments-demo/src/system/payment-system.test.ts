import { once } from 'node:events';
import type { MemoryCluster } from '@sendonce/transport-memory';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { order, pgliteStartMs, post, recognised, settledBooks, startMemorySystem } from './memory-system.testkit.ts';
import type { PaymentSystem } from './payment-system.ts';

let cluster: MemoryCluster;
let system: PaymentSystem;

beforeAll(async () => {
  ({ cluster, system } = await startMemorySystem());
}, pgliteStartMs);

afterAll(() => system.close());

it('a payment is accepted, stored, applied to two accounts, and told, once each', async () => {
  const { status, headers, body } = await post(system, order, { 'idempotency-key': 'first' });
  expect(status).toBe(201);
  expect(body).toEqual({ ...order, paymentId: expect.any(String), status: 'accepted' });
  expect(headers.get('location')).toBe(`/payments/${body.paymentId}`);
  expect(await settledBooks(system)).toMatchObject({
    accepted: 1,
    pending: 0,
    recordsInLog: 1,
    applied: 1,
    notified: 1,
    differences: [],
    isBalanced: true,
  });
  const found = await fetch(`${system.url}/payments/${body.paymentId}`);
  expect(await found.json()).toEqual({ ...body, status: 'applied' });
  const { accounts, sumMinor } = (await (await fetch(`${system.url}/accounts`)).json()) as {
    accounts: { account: string; balanceMinor: number }[];
    sumMinor: number;
  };
  expect(sumMinor).toBe(0);
  expect(accounts.filter(({ balanceMinor }) => balanceMinor !== 0)).toEqual([
    { account: 'account-1', balanceMinor: -2_000 },
    { account: 'account-2', balanceMinor: 2_000 },
  ]);
});

it('a repeat gets the same answer and sends nothing', async () => {
  const before = await system.reconcile();
  const first = await post(system, order, { 'idempotency-key': 'first' });
  expect(first.status).toBe(201);
  expect(first.headers.get('idempotency-replayed')).toBe('true');
  const again = await post(system, order, { 'idempotency-key': 'first' });
  expect(again.text).toBe(first.text);
  expect((await system.reconcile()).recordsInLog).toBe(before.recordsInLog);
});

it('repeats that come at the same time are sent once and told the same', async () => {
  const { recordsInLog } = await system.reconcile();
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => post(system, order, { 'idempotency-key': 'ten' })),
  );
  expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(201));
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  expect(answers.filter(({ headers }) => headers.get('idempotency-replayed') === null)).toHaveLength(1);
  expect((await system.reconcile()).recordsInLog).toBe(recordsInLog + 1);
});

it('the key with another payment is a conflict, and the first one stands', async () => {
  for (const other of [{ amountMinor: 1 }, { to: 'account-3' }, { from: 'account-3' }]) {
    const { status, body } = await post(system, { ...order, ...other }, { 'idempotency-key': 'first' });
    expect([status, body.error]).toEqual([409, { code: 'IDEMPOTENCY_KEY_REUSED', message: expect.any(String) }]);
  }
});

it('a payment sent again by a restarted producer is stored twice and applied once', async () => {
  const before = system.producer.stats()?.producerId;
  await system.producer.restartProducer();
  expect(system.producer.stats()?.producerId).not.toBe(before);
  const { recordsInLog, applied } = await settledBooks(system);
  const duplicate = recognised(system, 'first');
  await system.resend('first');
  await duplicate;
  expect(await settledBooks(system)).toMatchObject({
    recordsInLog: recordsInLog + 1,
    applied,
    duplicatesCaughtByKey: 1,
    isBalanced: true,
  });
});

it('a payment whose reply was lost when the API died is stored again when its client repeats, and applied once', async () => {
  const before = await settledBooks(system);
  cluster.faults.loseReply({ topic: 'payments' });
  const stored = new Promise<void>((resolve) => {
    const stop = cluster.onEvent(({ type }) => {
      if (type !== 'batch-stored') return;
      stop();
      resolve();
    });
  });
  const failed = once(system.events, 'payment-failed');
  const unanswered = post(system, order, { 'idempotency-key': 'lost' });
  await stored;
  await system.producer.restartProducer();
  expect((await failed)[0]).toMatchObject({ key: 'lost', fate: 'unknown' });
  expect((await unanswered).status).toBe(503);
  const duplicate = recognised(system, 'lost');
  expect((await post(system, order, { 'idempotency-key': 'lost' })).status).toBe(201);
  await duplicate;
  expect(await settledBooks(system)).toMatchObject({
    accepted: before.accepted + 1,
    recordsInLog: before.recordsInLog + 2,
    applied: before.applied + 1,
    duplicatesCaughtByKey: before.duplicatesCaughtByKey + 1,
    isBalanced: true,
  });
});

it('a consumer that dies between effect and commit applies nothing twice when it is back', async () => {
  const { applied } = await settledBooks(system);
  const crashed = system.crashConsumer();
  await system.pay(order, 'second');
  await crashed;
  expect(system.consumerStates().ledger).toBe('crashed');
  const readAgain = recognised(system, 'second');
  await system.restartConsumer();
  await readAgain;
  expect(await settledBooks(system)).toMatchObject({ applied: applied + 1, isBalanced: true });
});

it('while Kafka does not answer a client hears 503 in bounded time, and the same key finds out what became of its payment', async () => {
  for (const broker of [1, 2, 3]) cluster.broker(broker).pause();
  const startMs = performance.now();
  const { status, headers, body } = await post(system, order, { 'idempotency-key': 'in-trouble' });
  expect([status, headers.get('retry-after'), body.error]).toEqual([
    503,
    '1',
    { code: 'KAFKA_UNAVAILABLE', message: expect.stringContaining('same Idempotency-Key') },
  ]);
  expect(performance.now() - startMs).toBeLessThan(10_000);
  for (const broker of [1, 2, 3]) cluster.broker(broker).resume();
  const again = await post(system, order, { 'idempotency-key': 'in-trouble' });
  expect(again.status).toBe(201);
  const books = await settledBooks(system);
  expect(books).toMatchObject({ pending: 0, isBalanced: true });
  expect(books.applied).toBe(books.accepted);
});

it('a record that is no payment is put aside with its reason, and what follows goes on', async () => {
  const refused: unknown[] = [];
  system.events.on('payment-refused', (event) => refused.push(event.reason));
  const { applied } = await settledBooks(system);
  const { createProducer } = await import('@sendonce/producer-core');
  await using stranger = await createProducer({ transport: cluster.transport() });
  const paymentId = crypto.randomUUID();
  const toNobody = JSON.stringify({ ...order, paymentId, to: 'account-of-nobody' });
  await stranger.send({ topic: 'payments', value: 'not JSON', headers: { 'idempotency-key': 'a' } });
  await stranger.send({ topic: 'payments', value: toNobody, headers: { 'idempotency-key': 'b' } });
  await stranger.send({ topic: 'payments', value: toNobody });
  await stranger.send({ topic: 'payments', value: '{"paymentId":"x"}', headers: { 'idempotency-key': 'first' } });
  for (const partition of [0, 1, 2]) {
    await stranger.send({ topic: 'payments', partition, value: '[]', headers: { 'idempotency-key': 'c' } });
  }
  await system.pay(order, 'after strangers');
  const books = await settledBooks(system);
  expect(books).toMatchObject({ applied: applied + 1, ledgerSumMinor: 0, wrongBalances: [] });
  expect(refused).toEqual(
    expect.arrayContaining([
      'The record’s value is not a JSON object.',
      'unknown account account-of-nobody',
      expect.stringContaining('the message has no key'),
      'its key belongs to another payment',
    ]),
  );
});

it('says whether it lives, whether it is ready, and what it counted', async () => {
  expect((await fetch(`${system.url}/healthz`)).status).toBe(200);
  const ready = await fetch(`${system.url}/readyz`);
  expect([ready.status, await ready.json()]).toEqual([
    200,
    { status: 'ready', database: 'answers', producer: 'ready' },
  ]);
  const metrics = await (await fetch(`${system.url}/metrics`)).text();
  expect(metrics).toMatch(/^sendonce_consumer_dedup_messages_total\{.*sendonce_dedup_outcome="duplicate".*\} [1-9]/m);
  expect(metrics).toMatch(/^sendonce_producer_record_sends_total\{.*\} [1-9]/m);
});

it(
  'what can’t be reached at the start is named, with the reason',
  async () => {
    const starting = startMemorySystem({ notifications: { redisUrl: 'redis://127.0.0.1:1' } });
    await expect(starting).rejects.toThrow('Redis can’t be used: connect ECONNREFUSED 127.0.0.1:1');
  },
  pgliteStartMs,
);
