import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { PaymentError } from '../produce/payment-errors.ts';

export interface ErrorBody {
  readonly error: { readonly code: string; readonly message: string };
}

const retryAfterSeconds = 1;

export function errorBody(code: string, message: string): ErrorBody {
  return { error: { code, message } };
}

/** Ours, not those of the framework, which may change. */
const clientErrors = new Map([
  [400, { code: 'BAD_REQUEST', message: 'The body must be JSON, without a field named __proto__ or constructor.' }],
  [408, { code: 'REQUEST_TIMEOUT', message: 'The request came too slowly.' }],
  [413, { code: 'BODY_TOO_LARGE', message: 'The body is too large for a payment.' }],
  [414, { code: 'URL_TOO_LONG', message: 'A part of the URL is too long.' }],
  [415, { code: 'UNSUPPORTED_MEDIA_TYPE', message: 'Say content-type: application/json.' }],
  [431, { code: 'HEADERS_TOO_LARGE', message: 'The headers are too large.' }],
]);

/** Answers what is no request that could be routed: not HTTP, too slow, or with headers that are too large. */
export function answerBadRequestBytes(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, reason] =
    error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
      ? [408, 'Request Timeout']
      : error.code === 'HPE_HEADER_OVERFLOW'
        ? [431, 'Request Header Fields Too Large']
        : [400, 'Bad Request'];
  const { code, message } =
    status === 400 ? { code: 'BAD_REQUEST', message: 'That is not HTTP.' } : clientErrors.get(status as number)!;
  const body = JSON.stringify(errorBody(code, message));
  socket.end(
    `HTTP/1.1 ${status} ${reason}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}

/** Answers a URL that can't be routed: one that can't be decoded, or with a part that is too long. No hook has seen it. */
export function answerBadUrl({ statusCode }: { statusCode?: number }, reply: FastifyReply): void {
  const status = statusCode === 414 ? 414 : 400;
  const { code, message } =
    status === 414 ? clientErrors.get(status)! : { code: 'BAD_URL', message: 'The URL can’t be decoded.' };
  void reply.code(status).send(errorBody(code, message));
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
    if (error.validation !== undefined) return reply.code(statusCode).send(errorBody('INVALID_REQUEST', error.message));
    const { code, message } = clientErrors.get(statusCode) ?? { code: 'BAD_REQUEST', message: error.message };
    return reply.code(statusCode).send(errorBody(code, message));
  });
  app.setNotFoundHandler((_request, reply) => reply.code(404).send(errorBody('NOT_FOUND', 'There is nothing here.')));
}
