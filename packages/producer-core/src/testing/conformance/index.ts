import { answerCases } from './answer-cases.ts';
import { connectionCases } from './connection-cases.ts';
import type { ConformanceCapability, ConformanceCase } from './environment.ts';
import { faultCases } from './fault-cases.ts';
import { producerCases } from './producer-cases.ts';
import { replyCases } from './reply-cases.ts';

/** Every case of the transport conformance suite (rule T5). Framework-free: each one asserts with `node:assert`. */
export const conformanceCases: readonly ConformanceCase[] = [
  ...connectionCases,
  ...answerCases,
  ...faultCases,
  ...producerCases,
  ...replyCases,
];

export interface SelectedConformanceCases {
  readonly applicable: readonly ConformanceCase[];
  /** Cases that the environment can't run, with what it lacks. Assert on this list, so that none disappears unseen. */
  readonly notApplicable: readonly { readonly name: string; readonly lacks: readonly ConformanceCapability[] }[];
}

/** Parts the suite into what an environment can run and what it can't. */
export function selectConformanceCases(capabilities: Iterable<ConformanceCapability>): SelectedConformanceCases {
  const available = new Set(capabilities);
  const applicable: ConformanceCase[] = [];
  const notApplicable: { name: string; lacks: ConformanceCapability[] }[] = [];
  for (const conformanceCase of conformanceCases) {
    const lacks = conformanceCase.needs.filter((need) => !available.has(need));
    if (lacks.length === 0) applicable.push(conformanceCase);
    else notApplicable.push({ name: conformanceCase.name, lacks });
  }
  return { applicable, notApplicable };
}
