import type { ResolvedOptions } from './options.ts';

/** What the settings in force promise, in words and as values. */
export interface Guarantees {
  readonly idempotence: boolean;
  readonly acks: string;
  readonly maxInFlight: number;
  readonly deliveryTimeoutMs: number;
  /** True when an acknowledged record is stored exactly once, in send order, per partition and producer session. */
  readonly exactlyOncePerSession: boolean;
  readonly ordered: boolean;
  /** One sentence each, for a person. */
  readonly promises: readonly string[];
  readonly limits: readonly string[];
}

export function guaranteesOf(options: ResolvedOptions): Guarantees {
  const { idempotence, acks, maxInFlight, deliveryTimeoutMs, producerIdExpirationMs } = options;
  const promises: string[] = [];
  const limits: string[] = [];
  if (idempotence) {
    promises.push(
      'An acknowledged record is stored exactly once, in send order, per partition and producer session.',
      'A failed record is stored at most once; its error says whether it is certainly not stored, or unknown.',
    );
    limits.push(
      'A producer restart or a resend by the application is a new session: deduplicate those by a business key.',
      `Records dated more than producerIdExpirationMs (${producerIdExpirationMs} ms) ago are not protected for long: the broker forgets a producer by its records' timestamps.`,
      'An unclean leader election can lose acknowledged records; the event data-loss-suspected says so when it shows.',
    );
  } else {
    promises.push(
      acks === 'none'
        ? 'Records are handed to the connection; nobody says whether they are stored.'
        : `An acknowledged record is stored at least once (acks: '${acks}').`,
    );
    limits.push('idempotence is off: a retry can store a record twice.');
    if (maxInFlight > 1)
      limits.push(`maxInFlight is ${maxInFlight} without idempotence: a retry can change the order.`);
    if (acks === 'leader')
      limits.push("acks is 'leader': a record can be lost with its leader after it was acknowledged.");
    if (acks === 'none') limits.push("acks is 'none': a record can be lost at any time without an error.");
  }
  promises.push(
    `Every send settles: after deliveryTimeoutMs (${deliveryTimeoutMs} ms) at the latest once it is in a batch.`,
  );
  return {
    idempotence,
    acks,
    maxInFlight,
    deliveryTimeoutMs,
    exactlyOncePerSession: idempotence,
    ordered: idempotence || maxInFlight === 1,
    promises,
    limits,
  };
}

/** The startup report, one line. */
export function startupReport(
  clientId: string,
  { idempotence, acks, maxInFlight, promises, limits }: Guarantees,
): string {
  return (
    `sendonce producer ${clientId}: idempotence ${idempotence ? 'on' : 'OFF'}, acks ${acks}, maxInFlight ${maxInFlight}. ` +
    `Promised: ${promises.join(' ')} Not promised: ${limits.join(' ')}`
  );
}
