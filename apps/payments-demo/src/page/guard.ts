import type { FastifyReply, FastifyRequest } from 'fastify';
import { isOwnHost } from '../system/api/own-host.ts';

/**
 * Nothing inline, nothing from elsewhere, no frame around it. The page shows what others sent, and puts it into text nodes alone;
 * this is for the day somebody forgets.
 */
const headers = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  'cache-control': 'no-store',
} as const;

/** Refuses what does not come from the page itself, or from somebody at this machine's own terminal. */
export async function guard(request: FastifyRequest, reply: FastifyReply): Promise<void> {
  reply.headers(headers);
  const { host, origin } = request.headers;
  if (!isOwnHost(host)) return refuse(reply, 'This page answers to 127.0.0.1 and localhost.');
  if (request.method === 'GET' || request.method === 'HEAD') return;
  const site = request.headers['sec-fetch-site'];
  const isOwn = site === undefined || site === 'same-origin' || site === 'none';
  if (!isOwn || (origin !== undefined && origin !== `http://${host}`))
    return refuse(reply, 'Only the page itself may press its buttons.');
  // A form of another site can't say this without the browser asking first.
  if (!/^application\/json\b/.test(request.headers['content-type'] ?? ''))
    return refuse(reply, 'Say application/json.', 415);
}

async function refuse(reply: FastifyReply, message: string, status = 403): Promise<void> {
  await reply.code(status).send({ message });
}
