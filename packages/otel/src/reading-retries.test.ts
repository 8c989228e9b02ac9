import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { allIsWell, causes } from './causes.testkit.ts';
import { type Collected, observed } from './observed.testkit.ts';
import { evaluate, metricsByPrometheusName, readSelector, type Selector } from './prometheus-names.testkit.ts';

const page = readFileSync(join(import.meta.dirname, '..', '..', '..', 'docs', 'reading-retries.md'), 'utf8');

interface Evidence {
  readonly selector: Selector;
  readonly stays0: boolean;
}

interface Row {
  readonly section: string;
  readonly cause: string;
  readonly evidence: readonly Evidence[];
}

/** The rows of the page's decision tables: those whose first cell is a cause in bold. */
function decisionRows(): Row[] {
  let section = '';
  return page.split('\n').flatMap((line) => {
    if (line.startsWith('#')) section = line.replace(/^#+ /, '');
    const match = line.match(/^\| \*\*(.+?)\*\* \| (.+?) \| /);
    if (match === null) return [];
    const evidence = [...match[2]!.matchAll(/`([^`]+)`( stays 0)?/g)].map(([, text, stays0]): Evidence => {
      const selector = readSelector(text!);
      if (selector === null) throw new Error(`${section}, ${match[1]}: ${text} is no selector that can be tried`);
      return { selector, stays0: stays0 !== undefined };
    });
    return [{ section, cause: match[1]!, evidence }];
  });
}

const rows = decisionRows();
const seen = new Map<string, Promise<Collected>>();

/** What telemetry counts when the cause happens; each happens once, however many rows it has. */
function after(cause: string): Promise<Collected> {
  let collected = seen.get(cause);
  if (collected === undefined) {
    collected = (async () => {
      const { telemetry, collect } = observed();
      await (cause === '' ? allIsWell : causes[cause]!)(telemetry);
      return await collect();
    })();
    seen.set(cause, collected);
  }
  return collected;
}

describe('docs/reading-retries.md', () => {
  test('every cause that can be made to happen is on the page, and the other way round', () => {
    expect([...new Set(rows.map(({ cause }) => cause))].sort()).toEqual(Object.keys(causes).sort());
  });

  test.each(rows.map((row) => [row.section, row.cause, row] as const))(
    '%s: “%s” leaves the evidence that the page names, and a healthy producer does not',
    async (_section, cause, { evidence }) => {
      expect(evidence.length).toBeGreaterThan(0);
      expect(evidence[0]!.stays0, 'the first piece must be something to see').toBe(false);
      const collected = await after(cause);
      const healthy = await after('');
      for (const { selector, stays0 } of evidence) {
        const value = evaluate(selector, collected);
        if (stays0) expect(value, `${selector.text} stays 0`).toBe(0);
        else {
          expect(value, selector.text).toBeGreaterThan(selector.above);
          expect(evaluate(selector, healthy), `${selector.text} when all is well`).toBeLessThanOrEqual(selector.above);
        }
      }
    },
  );

  test('within a section no two causes leave the same evidence, unless the same is to be done', () => {
    const same = new Map<string, string>();
    for (const { section, cause, evidence } of rows) {
      const key = `${section}: ${evidence.map(({ selector, stays0 }) => `${selector.text}${stays0}`).join()}`;
      const before = same.get(key);
      if (before !== undefined) {
        expect([before, cause]).toEqual([
          'The producer was idle for longer than brokers remember',
          'Retention removed its records',
        ]);
      }
      same.set(key, cause);
    }
  });

  test('every metric that the page names exists', () => {
    const names = [...page.matchAll(/\b(?:sendonce|messaging)_[a-z_]+?(?:_total|_bucket)\b/g)].map(([name]) => name);
    expect(names.length).toBeGreaterThan(50);
    for (const name of names) expect(metricsByPrometheusName.has(name), name).toBe(true);
  });
});
