/** @import { LessonStep } from '../../lab/lesson/lesson-frame.ts' */
/** @import { Snapshot } from '../../lab/snapshot.ts' */
import { forgetLogs } from './brokers.js';
import { byId, el } from './dom.js';

/** @type {Map<number, Promise<LessonStep>>} */
const steps = new Map();

/**
 * Where in the lesson: a step, and one of its moments. Both from 1.
 * @typedef {{ step: number, moment: number }} LessonPlace
 */

/**
 * Reads `#lesson/7/2`.
 * @param {string} hash
 * @returns {LessonPlace | null}
 */
export function lessonPlaceOf(hash) {
  const found = /^#lesson\/(\d{1,3})(?:\/(\d{1,3}|last))?$/.exec(hash);
  if (found === null) return null;
  const moment = found[2] === 'last' ? Number.POSITIVE_INFINITY : Number(found[2] ?? 1);
  return { step: Math.max(1, Number(found[1])), moment: Math.max(1, moment) };
}

/**
 * Shows a moment of the lesson. The server plays the lesson anew up to the step, so going back shows what was there.
 * @param {LessonPlace} place
 * @param {(snapshot: Snapshot) => void} showState
 * @param {() => boolean} isStillWanted
 */
export async function showLesson({ step, moment }, showState, isStillWanted) {
  /** @type {LessonStep} */
  let lesson;
  try {
    lesson = await load(step);
  } catch (error) {
    if (isStillWanted()) renderProblem(error instanceof TypeError ? 'The demo does not answer.' : String(error));
    return;
  }
  if (!isStillWanted()) return;
  const at = Math.min(moment, lesson.frames.length);
  const frame = lesson.frames[at - 1];
  if (frame === undefined) return;
  if (at === 1) forgetLogs();
  showState(frame.snapshot);
  for (const part of ['producer', 'brokers', 'consumer', 'ledger']) {
    const names = part === 'brokers' ? ['log', 'notebook', 'replicas', 'header'] : [part];
    const isLit = lesson.spotlight.some((name) => names.includes(name));
    byId(part).dataset.lit = String(isLit);
  }
  document.body.dataset.spotlight = lesson.spotlight.join(' ');
  render(lesson, at, frame.caption);
}

/** @param {string} problem */
function renderProblem(problem) {
  const panel = byId('lesson');
  delete panel.dataset.step;
  panel.replaceChildren(
    el('h2', { id: 'lesson-title' }, 'Lesson'),
    el('p', {}, problem.replace(/^Error: /, '')),
    el('p', { class: 'try' }, el('a', { href: '#lesson/1' }, 'To the first idea')),
  );
}

/** @param {number} step */
async function load(step) {
  const known = steps.get(step);
  if (known !== undefined) return known;
  const loading = fetch(`/lesson/${step}`).then(async (response) => {
    if (!response.ok) throw new Error((await response.json()).message);
    return /** @type {Promise<LessonStep>} */ (response.json());
  });
  steps.set(step, loading);
  loading.catch(() => steps.delete(step));
  return loading;
}

/**
 * @param {LessonStep} lesson
 * @param {number} at
 * @param {string} caption
 */
function render(lesson, at, caption) {
  const { step, title, text, frames, header, tryIt } = lesson;
  const panel = byId('lesson');
  const hadFocus = panel.contains(document.activeElement) ? document.activeElement?.id : null;
  panel.dataset.step = String(step);
  panel.dataset.moment = String(at);
  panel.replaceChildren(
    el('p', { class: 'step-of' }, `Idea ${step} of ${lesson.steps}`),
    el('h2', { id: 'lesson-title' }, title),
    el('p', { class: 'lesson-text' }, text),
    el(
      'div',
      { class: 'moment', role: 'status' },
      el('p', { class: 'moment-of' }, frames.length === 1 ? 'What you see' : `What you see, ${at} of ${frames.length}`),
      el('p', { id: 'caption' }, caption),
    ),
    header === null ? '' : headerTable(header),
    el('div', { class: 'steps' }, backButton(lesson, at), nextButton(lesson, at)),
    tryIt === null || at < frames.length
      ? ''
      : el('p', { class: 'try' }, el('a', { href: `#live/${tryIt}` }, 'Do it yourself in the live system')),
    ideaList(lesson),
  );
  if (hadFocus) document.getElementById(hadFocus)?.focus();
}

/**
 * @param {LessonStep} lesson
 * @param {number} at
 */
function backButton({ step }, at) {
  const href = at > 1 ? `#lesson/${step}/${at - 1}` : `#lesson/${step - 1}/last`;
  const isFirst = at === 1 && step === 1;
  return el(
    'a',
    {
      id: 'lesson-back',
      class: 'button',
      href: isFirst ? null : href,
      'aria-disabled': isFirst && 'true',
      role: 'button',
    },
    'Back',
  );
}

/**
 * @param {LessonStep} lesson
 * @param {number} at
 */
function nextButton({ step, steps: length, frames }, at) {
  const isLast = at === frames.length && step === length;
  const href = isLast ? '#live' : at < frames.length ? `#lesson/${step}/${at + 1}` : `#lesson/${step + 1}`;
  const label = isLast ? 'To the live system' : at < frames.length ? 'Go on' : 'Next idea';
  return el('a', { id: 'lesson-next', class: 'button main', href, role: 'button' }, label);
}

/** @param {LessonStep} lesson */
function ideaList({ step, steps: length }) {
  return el(
    'nav',
    { class: 'ideas', 'aria-label': 'All ideas' },
    ...Array.from({ length }, (_, index) =>
      el(
        'a',
        {
          href: `#lesson/${index + 1}`,
          'aria-current': index + 1 === step && 'step',
          'aria-label': `Idea ${index + 1}`,
        },
        index + 1,
      ),
    ),
  );
}

/** @param {NonNullable<LessonStep['header']>} header */
function headerTable(header) {
  return el(
    'table',
    { class: 'header-fields' },
    el('caption', {}, 'Header of the batch at offset 900'),
    el(
      'tbody',
      {},
      ...header.map(({ field, value, meaning }) =>
        el(
          'tr',
          {},
          el('th', { scope: 'row' }, field),
          el('td', {}, el('code', {}, value), el('span', { class: 'meaning' }, meaning)),
        ),
      ),
    ),
  );
}
