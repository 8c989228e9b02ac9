import type { DumpRow } from '@sendonce/transport-memory';
import { topic } from '../../scenes/payments.ts';
import type { HeaderField, LessonStep } from './lesson-frame.ts';
import { LessonRun } from './lesson-run.ts';
import { lessonIdeas } from './lesson-steps.ts';

export const lessonLength = lessonIdeas.length;

/**
 * Plays the lesson from a fresh start up to the end of a step, and gives that step. Back and forward show the same each time: a run
 * on virtual time depends on nothing but the step.
 * @param step From 1 to {@link lessonLength}.
 */
export async function playLesson(step: number): Promise<LessonStep> {
  const run = new LessonRun();
  for (const { play } of lessonIdeas.slice(0, step)) {
    run.frames = [];
    await play(run);
  }
  const { title, text, spotlight, live } = lessonIdeas[step - 1]!;
  return {
    step,
    steps: lessonLength,
    title,
    text,
    spotlight,
    frames: run.frames,
    header: spotlight.includes('header') ? headerFields(run.cluster.dump(topic, 0)[0]!) : null,
    live,
  };
}

function headerFields(row: DumpRow): HeaderField[] {
  return [
    {
      field: 'base offset',
      value: `${row.baseOffset}`,
      meaning: 'where its first record lies; the leader fills it in',
    },
    { field: 'leader epoch', value: `${row.partitionLeaderEpoch}`, meaning: 'which leadership stored it' },
    { field: 'magic', value: `${row.magic}`, meaning: 'the format: record batch version 2' },
    { field: 'CRC32C', value: row.crc.toString(16).padStart(8, '0'), meaning: 'checksum of what follows' },
    { field: 'producer id', value: `${row.producerId}`, meaning: 'who sent it' },
    { field: 'producer epoch', value: `${row.producerEpoch}`, meaning: 'since which beginning' },
    { field: 'base sequence', value: `${row.baseSequence}`, meaning: 'number of its first record' },
    {
      field: 'records',
      value: `${row.count}`,
      meaning: `so it holds the numbers ${row.baseSequence} to ${row.lastSequence}`,
    },
  ];
}
