import { expect, it } from 'vitest';
import { Timeline } from './timeline.ts';

it('keeps the newest stories only, and their order', () => {
  const timeline = new Timeline();
  for (let number = 1; number <= 1_000; number += 1) timeline.tell('calm', `${number}`);
  const { entries } = timeline;
  expect(entries.length).toBeLessThanOrEqual(40);
  expect(entries.at(-1)).toEqual({ id: 1_000, tone: 'calm', parts: ['1000'] });
});

it('a story that goes on and on stays short, and keeps its beginning and its end', () => {
  const timeline = new Timeline();
  const story = timeline.tell('trouble', 'the beginning');
  for (let number = 0; number < 1_000; number += 1) story.add(`part ${number}`);
  story.add('the end');
  const [entry] = timeline.entries;
  expect(entry!.parts.length).toBeLessThanOrEqual(9);
  expect([entry!.parts[0], entry!.parts.at(-1)]).toEqual(['the beginning', 'the end']);
});

it('what happens again and again is told once', () => {
  const timeline = new Timeline();
  const story = timeline.tell('trouble', '4–5');
  for (let again = 0; again < 5; again += 1) {
    story.add('no answer');
    story.add('sent again');
  }
  story.add('acknowledged');
  expect(timeline.entries[0]!.parts).toEqual(['4–5', 'no answer', 'sent again, and again', 'acknowledged']);
});

it('a story’s tone becomes stronger, never weaker', () => {
  const timeline = new Timeline();
  const story = timeline.tell('note', 'one');
  story.add('two', 'caught');
  story.add('three', 'trouble');
  expect(timeline.entries[0]!.tone).toBe('caught');
});
