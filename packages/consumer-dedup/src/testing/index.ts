/**
 * The conformance suite for deduplication stores. Free of any test framework: run each case that applies in a test of
 * yours; it rejects when the store breaks the rule.
 */
import { batchCases } from './batch-cases.ts';
import type { ConformanceCase } from './environment.ts';
import { leaseCases } from './lease-cases.ts';
import { noteCases } from './note-cases.ts';
import { singleCases } from './single-cases.ts';
import { transactionCases } from './transaction-cases.ts';

export type { AnyContext, ConformanceCase, ConformanceEnvironment, StoreTraits } from './environment.ts';

export const conformanceCases: readonly ConformanceCase[] = [
  ...singleCases,
  ...batchCases,
  ...leaseCases,
  ...transactionCases,
  ...noteCases,
];

export {
  type CrashPoint,
  type CrashResult,
  type CrashRun,
  crashPoints,
  type Durability,
  runUntilCrash,
  takeOverAfterCrash,
} from './crash-points.ts';
