import * as published from '@opentelemetry/semantic-conventions/incubating';
import { describe, expect, test } from 'vitest';
import manifest from '../package.json' with { type: 'json' };
import { attributeNaming } from './attributes.ts';
import { counters, gauges, histograms } from './metrics/catalogue.ts';
import { conventional, own, previousNames } from './semconv.ts';
import { instrumentationVersion } from './version.ts';

const publishedNames = new Set<unknown>(Object.values(published).filter((value) => typeof value === 'string'));

describe('names', () => {
  test.each(Object.values(conventional))('%s is a name of the semantic conventions', (name) => {
    expect(publishedNames).toContain(name);
  });

  test.each([...previousNames])('%s was called %s', (current, previous) => {
    expect(publishedNames).toContain(current);
    expect(publishedNames).toContain(previous);
  });

  const metrics = [...Object.values(counters), ...Object.values(histograms), ...Object.values(gauges)];
  test('every metric that is not of the conventions is called sendonce.…, each once', () => {
    const names = metrics.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(publishedNames.has(name) || name.startsWith('sendonce.'), name).toBe(true);
  });

  test('every metric has a unit and a description, and no unit in its name', () => {
    for (const { name, unit, description } of metrics) {
      expect(description, name).toMatch(/\.$/);
      expect(unit, name).toMatch(/^(s|By|\{[a-z]+\})$/);
      expect(name).not.toMatch(/total|seconds|bytes|_ms$/);
    }
  });

  test('names of ours stay out of the conventions’ namespaces', () => {
    for (const name of Object.values(own)) expect(name).toMatch(/^sendonce\./);
  });

  test('previous names are added where both are asked for, and only then', () => {
    const attributes = { 'messaging.system.name': 'kafka', 'kafka.offset': 3, other: 1 };
    expect(attributeNaming('current')({ ...attributes })).toEqual(attributes);
    expect(attributeNaming('both')({ ...attributes })).toEqual({
      ...attributes,
      'messaging.system': 'kafka',
      'messaging.kafka.offset': 3,
    });
  });

  test('the version that is reported is the package’s', () => {
    expect(instrumentationVersion).toBe(manifest.version);
  });
});
