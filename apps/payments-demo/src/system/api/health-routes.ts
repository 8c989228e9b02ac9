import type { FastifyInstance } from 'fastify';

export interface Readiness {
  readonly isReady: boolean;
  /** What is asked, and how it is. */
  readonly parts: Readonly<Record<string, string>>;
}

/** `/healthz`: the process answers, so there is no reason to restart it. `/readyz`: it can take payments, so requests may be sent here. */
export function healthRoutes(app: FastifyInstance, readiness: () => Promise<Readiness>): void {
  const quiet = { logLevel: 'warn' } as const;
  app.get('/healthz', quiet, async () => ({ status: 'alive' }));
  app.get('/readyz', quiet, async (_request, reply) => {
    const { isReady, parts } = await readiness();
    return reply.code(isReady ? 200 : 503).send({ status: isReady ? 'ready' : 'not ready', ...parts });
  });
}
