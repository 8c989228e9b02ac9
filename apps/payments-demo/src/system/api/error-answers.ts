import type { FastifyInstance } from 'fastify';
import { PaymentError } from '../produce/payment-errors.ts';

export interface ErrorBody {
  readonly error: { readonly code: string; readonly message: string };
}

const retryAfterSeconds = 1;

export function errorBody(code: string, message: string): ErrorBody {
  return { error: { code, message } };
}

/** Every error is answered as `{ error: { code, message } }`. What went wrong inside is logged, and not told. */
export function answerErrors(app: FastifyInstance): void {
  app.setErrorHandler((error: Error & { statusCode?: number; code?: string; validation?: unknown }, request, reply) => {
    if (error instanceof PaymentError) {
      if (error.statusCode >= 500) request.log.warn({ err: error.cause, code: error.code }, 'payment not accepted');
      if (error.retriable) reply.header('retry-after', retryAfterSeconds);
      return reply.code(error.statusCode).send(errorBody(error.code, error.message));
    }
    const statusCode = error.statusCode ?? 500;
    if (statusCode >= 500) {
      request.log.error(error);
      return reply.code(statusCode).send(errorBody('INTERNAL', 'Something went wrong here. Try again later.'));
    }
    const code = error.validation === undefined ? (error.code ?? 'BAD_REQUEST') : 'INVALID_REQUEST';
    return reply.code(statusCode).send(errorBody(code, error.message));
  });
  app.setNotFoundHandler((_request, reply) => reply.code(404).send(errorBody('NOT_FOUND', 'There is nothing here.')));
}
