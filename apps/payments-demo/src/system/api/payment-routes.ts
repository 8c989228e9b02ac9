import type { FastifyInstance } from 'fastify';
import type { Database } from '../database/database.ts';
import { listAccounts } from '../ledger/ledger.ts';
import { amountMinorMax, type PaymentOrder } from '../payment.ts';
import type { PaymentDesk } from '../produce/payment-desk.ts';
import type { PaymentRequests } from '../produce/payment-requests.ts';
import { errorBody } from './error-answers.ts';

const account = { type: 'string', pattern: '^[a-z0-9-]{1,40}$' };

const orderSchema = {
  type: 'object',
  required: ['from', 'to', 'amountMinor', 'currency'],
  additionalProperties: false,
  properties: {
    from: account,
    to: account,
    amountMinor: { type: 'integer', minimum: 1, maximum: amountMinorMax },
    currency: { type: 'string', enum: ['EUR'] },
  },
};

/** Printable and without spaces: it becomes a record's header and a row's key, byte by byte. */
const keySchema = {
  type: 'object',
  required: ['idempotency-key'],
  properties: { 'idempotency-key': { type: 'string', pattern: '^[!-~]{1,200}$' } },
};

const idSchema = {
  type: 'object',
  required: ['paymentId'],
  properties: { paymentId: { type: 'string', pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' } },
};

export interface PaymentRoutes {
  readonly desk: PaymentDesk;
  readonly requests: PaymentRequests;
  readonly database: Database;
}

export function paymentRoutes(app: FastifyInstance, { desk, requests, database }: PaymentRoutes): void {
  app.post<{ Body: PaymentOrder; Headers: { 'idempotency-key': string } }>(
    '/payments',
    { schema: { body: orderSchema, headers: keySchema } },
    async (request, reply) => {
      const { payment, replayed } = await desk.pay(request.body, request.headers['idempotency-key']);
      reply.code(201).header('location', `/payments/${payment.paymentId}`);
      if (replayed) reply.header('idempotency-replayed', 'true');
      return { ...payment, status: 'accepted' };
    },
  );

  app.get<{ Params: { paymentId: string } }>(
    '/payments/:paymentId',
    { schema: { params: idSchema } },
    async (request, reply) => {
      const found = await requests.status(request.params.paymentId);
      if (found === null) return reply.code(404).send(errorBody('NOT_FOUND', 'There is no such payment.'));
      return { ...found.payment, status: found.status };
    },
  );

  app.get('/accounts', async () => {
    const accounts = await listAccounts(database);
    return { accounts, sumMinor: accounts.reduce((sum, { balanceMinor }) => sum + balanceMinor, 0), currency: 'EUR' };
  });
}
