import { expect, test } from 'vitest';
import { conformanceCases, selectConformanceCases } from './index.ts';

test('T5: every case has a name of its own and begins with its rules', () => {
  expect(new Set(conformanceCases.map(({ name }) => name)).size).toBe(conformanceCases.length);
  for (const { name, rules } of conformanceCases) {
    expect(rules.length).toBeGreaterThan(0);
    expect(name.startsWith(`${rules.join(', ')}: `)).toBe(true);
  }
});

test('T5: a case that an environment cannot run is listed with what is missing, never dropped', () => {
  const none = selectConformanceCases([]);
  expect(none.applicable.length + none.notApplicable.length).toBe(conformanceCases.length);
  for (const { lacks } of none.notApplicable) expect(lacks.length).toBeGreaterThan(0);
  const everything = selectConformanceCases(conformanceCases.flatMap(({ needs }) => needs));
  expect(everything.applicable).toEqual(conformanceCases);
  expect(everything.notApplicable).toEqual([]);
});
