import { DedupConfigError } from './errors.ts';

/** The reference tokens of a JSON pointer (RFC 6901). Throws {@link DedupConfigError} for one that isn't valid. */
export function parseJsonPointer(pointer: string, field: string): readonly string[] {
  if (pointer === '') return [];
  if (!pointer.startsWith('/') || /~(?![01])/.test(pointer)) {
    throw new DedupConfigError(
      `${field}: ${JSON.stringify(pointer)} is not a JSON pointer; write it like "/payment/id" (RFC 6901: "~1" for "/", "~0" for "~")`,
      [field],
    );
  }
  return pointer
    .slice(1)
    .split('/')
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** What the tokens lead to in `document`; `undefined` when there is nothing. */
export function resolveJsonPointer(document: unknown, tokens: readonly string[]): unknown {
  let value = document;
  for (const token of tokens) {
    if (Array.isArray(value)) {
      if (!/^(0|[1-9]\d*)$/.test(token)) return undefined;
      value = value[Number(token)];
    } else if (typeof value === 'object' && value !== null && Object.hasOwn(value, token)) {
      value = (value as Record<string, unknown>)[token];
    } else return undefined;
  }
  return value;
}
