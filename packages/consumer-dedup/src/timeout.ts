import { StoreUnavailableError } from './errors.ts';

/** Rejects with {@link StoreUnavailableError} when `request` has not settled after `timeoutMs`; its own result is then dropped. */
export async function withTimeout<T>(request: Promise<T>, timeoutMs: number, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new StoreUnavailableError(`${what} got no answer within ${timeoutMs} ms; nothing may be committed`)),
      timeoutMs,
    );
  });
  // When the timer wins, a later rejection of the request has no one else to handle it.
  request.catch(() => undefined);
  try {
    return await Promise.race([request, late]);
  } finally {
    clearTimeout(timer);
  }
}
