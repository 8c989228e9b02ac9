import helmet from '@fastify/helmet';
import fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify';
import { answerBadRequestBytes, answerBadUrl, answerErrors, errorBody } from './error-answers.ts';
import { isOwnHost } from './own-host.ts';

/** A payment is some 100 bytes. */
const bodyLimitBytes = 4_096;
/** A client that sends its request more slowly than this is cut off. */
const requestTimeoutMs = 10_000;
/** How often Node looks for such clients. */
const connectionsCheckingIntervalMs = 1_000;
const keepAliveTimeoutMs = 5_000;
const maxHeaderBytes = 8_192;

export interface ApiServerOptions {
  /** True, pino's options, or false. */
  readonly logger: Exclude<FastifyServerOptions['logger'], undefined>;
  readonly requestTimeoutMs?: number | undefined;
}

/** A server with its limits and headers set, and no routes yet. */
export async function createApiServer(options: ApiServerOptions): Promise<FastifyInstance> {
  const timeoutMs = options.requestTimeoutMs ?? requestTimeoutMs;
  const app = fastify({
    logger: options.logger,
    bodyLimit: bodyLimitBytes,
    requestTimeout: timeoutMs,
    connectionTimeout: 0,
    keepAliveTimeout: keepAliveTimeoutMs,
    http: {
      headersTimeout: timeoutMs,
      connectionsCheckingInterval: connectionsCheckingIntervalMs,
      maxHeaderSize: maxHeaderBytes,
    },
    // While it closes: answers what is in hand, and nothing new.
    return503OnClosing: true,
    forceCloseConnections: 'idle',
    clientErrorHandler: answerBadRequestBytes,
    frameworkErrors: (error, _request, reply) => answerBadUrl(error, reply),
    // A string is not a number, and a field that we don't know is a mistake of the client's.
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false, allErrors: false } },
  });
  answerErrors(app);
  // It listens on loopback alone. In front of other machines this is the place for authentication, and for one's own names.
  app.addHook('onRequest', async (request, reply) => {
    if (isOwnHost(request.headers.host)) return;
    await reply.code(403).send(errorBody('FORBIDDEN_HOST', 'This service answers to 127.0.0.1 and localhost.'));
  });
  await app.register(helmet, {
    contentSecurityPolicy: {
      directives: { 'script-src': ["'self'"], 'style-src': ["'self'"], 'upgrade-insecure-requests': null },
    },
    // Plain HTTP on loopback: a browser that was told to use HTTPS for 127.0.0.1 would keep to it.
    strictTransportSecurity: false,
  });
  return app;
}
