import type { Producer } from '@sendonce/producer-core';
import type { Stage } from './stage.ts';

const longLifeMs = 10 * 60_000;

/** Closes a service's producer after a while: closed at once it would count as churn, which is another scene's subject (rule C16). */
export async function retire(stage: Stage, ...producers: Producer[]): Promise<void> {
  await stage.wait(longLifeMs);
  await Promise.all(producers.map((producer) => producer.close()));
}
