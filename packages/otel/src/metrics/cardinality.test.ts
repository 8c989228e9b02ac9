import { describe, expect, test } from 'vitest';
import { BoundedLabel } from './bounded-label.ts';
import { Tally } from './tally.ts';

function seriesOf(tally: Tally) {
  const series: [unknown, number][] = [];
  tally.observe({ observe: (value, attributes) => void series.push([attributes, value]) });
  return series;
}

describe('bounded labels', () => {
  test('topics beyond the limit are counted together', () => {
    const topics = new BoundedLabel(2);
    expect(['a', 'b', 'c', 'a', 'd'].map((topic) => topics.of(topic))).toEqual(['a', 'b', '_other', 'a', '_other']);
  });

  test('a limit of 0 tells no topics apart', () => {
    expect(new BoundedLabel(0).of('a')).toBe('_other');
  });

  test('a counter adds up by its labels, those left out included', () => {
    const tally = new Tally(['topic', 'error.type'], (attributes) => attributes);
    tally.add(1, ['a']);
    tally.add(2, ['a', undefined]);
    tally.add(3, ['a', 'TIMEOUT']);
    tally.add(4, ['a']);
    expect(seriesOf(tally)).toEqual([
      [{ topic: 'a' }, 7],
      [{ topic: 'a', 'error.type': 'TIMEOUT' }, 3],
    ]);
  });

  test('series stay below the SDK’s limit, and none of what is counted is lost', () => {
    const tally = new Tally(['topic'], (attributes) => attributes);
    for (let index = 0; index < 5_000; index++) tally.add(1, [`topic-${index}`]);
    const series = seriesOf(tally);
    expect(series.length).toBeLessThan(2_000);
    expect(series.reduce((sum, [, value]) => sum + value, 0)).toBe(5_000);
    expect(series.at(-1)).toEqual([{ 'otel.metric.overflow': true }, 3_100]);
  });
});
