const lowCardinality = /^[A-Z][A-Z0-9_]{1,63}$/;

/** For errors that carry no usable name: what the conventions ask for. */
export const otherError = '_OTHER';

/** Codes that stand for a broker's answer: Kafka's name of the answer says more. */
const answeredByBroker: ReadonlySet<string> = new Set([
  'REFUSED',
  'UNKNOWN_TOPIC',
  'AUTHORIZATION',
  'RECORD_TOO_LARGE',
  'PROTOCOL',
]);

/**
 * `error.type`: Kafka's name where a broker's answer is behind it, else our error's `code`, else the class. Never the message, which
 * has no bound.
 */
export function errorTypeOf(error: unknown, answer: string | null = null): string {
  if (typeof error !== 'object' || error === null) return otherError;
  const { code, errorName, name } = error as { code?: unknown; errorName?: unknown; name?: unknown };
  if (typeof errorName === 'string' && lowCardinality.test(errorName)) return errorName;
  if (typeof code === 'string' && lowCardinality.test(code)) {
    return answer !== null && answeredByBroker.has(code) ? answer : code;
  }
  return typeof name === 'string' && /^[A-Za-z][A-Za-z0-9]{0,63}$/.test(name) ? name : otherError;
}
