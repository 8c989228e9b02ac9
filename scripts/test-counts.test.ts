import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { closingLine, countTests, readTestCounts } from './test-counts.ts';

const file = (status: string, ...tests: string[]) => ({
  status,
  assertionResults: tests.map((status) => ({ status })),
});

describe('test counts', () => {
  it('tests of all files are summed; what is neither passed nor failed was skipped', () => {
    const report = { testResults: [file('passed', 'passed', 'pending'), file('failed', 'failed', 'passed', 'todo')] };
    expect(countTests(report, 1)).toEqual({ passed: 2, failed: 1, skipped: 2 });
  });

  it('a file that did not load counts as one failed', () => {
    expect(countTests({ testResults: [file('failed'), file('passed', 'passed')] }, 1)).toEqual({
      passed: 1,
      failed: 1,
      skipped: 0,
    });
  });

  it('a run that failed without a failed test (an unhandled error) counts as one failed', () => {
    expect(countTests({ testResults: [file('passed', 'passed')] }, 1).failed).toBe(1);
    expect(countTests({ testResults: [file('passed', 'passed')] }, null).failed).toBe(1);
  });

  it.each([0, 1, null])('a run without a readable report failed, whatever it exited with (%s)', (status) => {
    const folder = mkdtempSync(join(tmpdir(), 'sendonce-counts-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    expect(readTestCounts(join(folder, 'missing.json'), status).failed).toBe(1);
    writeFileSync(join(folder, 'cut.json'), '{"testResults": [');
    expect(readTestCounts(join(folder, 'cut.json'), status).failed).toBe(1);
  });

  it('the closing line is plain', () => {
    expect(closingLine({ passed: 12, failed: 0, skipped: 1 })).toBe('12 passed, 0 failed, 1 skipped');
  });
});
