import { readFileSync } from 'node:fs';

export interface TestCounts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

interface VitestReport {
  readonly testResults: readonly {
    readonly status: string;
    readonly assertionResults: readonly { readonly status: string }[];
  }[];
}

/**
 * Counts a run of vitest from its JSON report. A file that failed without a failed test (it did not load, or a hook threw) counts as one
 * failed, and so does a run that failed for a reason that no file shows, or left no readable report.
 */
export function countTests(report: VitestReport | undefined, exitStatus: number | null): TestCounts {
  let passed = 0;
  let failed = 0;
  let skipped = 0;
  for (const { status, assertionResults } of report?.testResults ?? []) {
    const failedBefore = failed;
    for (const test of assertionResults) {
      if (test.status === 'passed') passed += 1;
      else if (test.status === 'failed') failed += 1;
      else skipped += 1;
    }
    if (status === 'failed' && failed === failedBefore) failed += 1;
  }
  if (failed === 0 && exitStatus !== 0) failed = 1;
  return { passed, failed, skipped };
}

export function readTestCounts(path: string, exitStatus: number | null): TestCounts {
  try {
    return countTests(JSON.parse(readFileSync(path, 'utf8')) as VitestReport, exitStatus);
  } catch {
    return countTests(undefined, exitStatus === 0 ? null : exitStatus);
  }
}

export function closingLine({ passed, failed, skipped }: TestCounts): string {
  return `${passed} passed, ${failed} failed, ${skipped} skipped`;
}
