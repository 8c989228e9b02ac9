export type ServiceName = 'Postgres' | 'Kafka' | 'Redis';

/** A service that the system can't do without could not be used when it started. */
export class PartError extends Error {
  override readonly name = 'PartError';
  readonly service: ServiceName;

  constructor(service: ServiceName, cause: unknown) {
    super(`${service} can’t be used: ${reasonOf(cause)}`, { cause });
    this.service = service;
  }
}

/** Resolves as the work does; its failure says which service it was about. */
export async function using<T>(service: ServiceName, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new PartError(service, error);
  }
}

/** Several addresses of one name that all refused are one error without a message of its own. */
function reasonOf(cause: unknown): string {
  const { message, code, errors } = cause as { message?: string; code?: string; errors?: readonly Error[] };
  return message || errors?.map((each) => each.message).join(', ') || code || String(cause);
}
