/** @import { LessonStep } from '../../lab/lesson/lesson-frame.ts' */
/** @import { Snapshot } from '../../lab/snapshot.ts' */
/** @import { LessonPlace } from './lesson-place.js' */
import { byId, el } from './dom.js';
import { hashOf, loadStep, move, neighbour } from './lesson-place.js';
import { tryLive } from './try-live.js';

/** What is told of a place: the lesson itself, and the state that the page shows beside it; null: the live system's. */
/** @typedef {(example: Snapshot | null, isStart: boolean) => void} ShowExample */

/**
 * Shows a moment of the lesson.
 * @param {LessonPlace} place
 * @param {ShowExample} show
 * @param {() => boolean} isStillWanted
 */
export async function showLesson({ step, moment, isLive }, show, isStillWanted) {
  /** @type {LessonStep} */
  let lesson;
  try {
    lesson = await loadStep(step);
  } catch (error) {
    if (isStillWanted()) renderProblem(error);
    return;
  }
  if (!isStillWanted()) return;
  const at = Math.min(moment, lesson.frames.length);
  const frame = lesson.frames[at - 1];
  if (frame === undefined) return;
  show(isLive ? null : frame.snapshot, at === 1);
  for (const part of ['producer', 'brokers', 'consumer', 'ledger']) {
    const names = part === 'brokers' ? ['log', 'notebook', 'replicas', 'header'] : [part];
    const isLit = isLive || lesson.spotlight.some((name) => names.includes(name));
    byId(part).dataset.lit = String(isLit);
  }
  document.body.dataset.spotlight = lesson.spotlight.join(' ');
  render(lesson, at, isLive, frame.caption);
}

/** Whether the lesson says that the demo does not answer. */
export function isUnanswered() {
  return byId('lesson').dataset.problem === 'unanswered';
}

/** @param {unknown} error */
function renderProblem(error) {
  const panel = byId('lesson');
  const problem = error instanceof TypeError ? 'The demo does not answer.' : String(error);
  panel.dataset.problem = error instanceof TypeError ? 'unanswered' : 'refused';
  delete panel.dataset.step;
  panel.replaceChildren(
    el('h2', { id: 'lesson-title' }, 'Lesson'),
    el('p', {}, problem.replace(/^Error: /, '')),
    el('p', { class: 'try' }, el('a', { href: '#lesson/1' }, 'To the first idea')),
  );
}

/**
 * @param {LessonStep} lesson
 * @param {number} at
 * @param {boolean} isLive
 * @param {string} caption
 */
function render(lesson, at, isLive, caption) {
  const { step, title, text, frames, header, live } = lesson;
  const panel = byId('lesson');
  const hadFocus = panel.contains(document.activeElement) ? document.activeElement?.id : null;
  delete panel.dataset.problem;
  panel.dataset.step = String(step);
  panel.dataset.moment = String(at);
  panel.dataset.shows = isLive ? 'live' : 'example';
  const what = isLive ? 'In the example' : 'What you see';
  const here = { step, moment: at };
  panel.replaceChildren(
    el('p', { class: 'step-of' }, `Idea ${step} of ${lesson.steps}`),
    el('h2', { id: 'lesson-title' }, title),
    el('p', { class: 'lesson-text' }, text),
    el(
      'div',
      { class: 'moment', role: 'status' },
      el('p', { class: 'moment-of' }, frames.length === 1 ? what : `${what}, ${at} of ${frames.length}`),
      el('p', { id: 'caption' }, caption),
    ),
    header === null ? '' : headerTable(header),
    el('div', { class: 'steps' }, backButton(lesson, at), nextButton(lesson, at)),
    at === frames.length || isLive ? tryLive(live, hashOf({ ...here, isLive: true })) : '',
    isLive
      ? el(
          'p',
          { class: 'try' },
          el('a', { id: 'to-example', href: hashOf({ ...here, isLive: false }) }, 'Show the example again'),
        )
      : '',
    ideaList(lesson),
  );
  if (hadFocus) document.getElementById(hadFocus)?.focus();
}

/**
 * @param {LessonStep} lesson
 * @param {number} at
 */
function backButton(lesson, at) {
  const href = neighbour(lesson, at, -1);
  return moving(
    el(
      'a',
      { id: 'lesson-back', class: 'button', href, 'aria-disabled': href === null && 'true', role: 'button' },
      'Back',
    ),
    -1,
  );
}

/**
 * @param {LessonStep} lesson
 * @param {number} at
 */
function nextButton(lesson, at) {
  const isLast = at === lesson.frames.length;
  const label = !isLast ? 'Go on' : lesson.step === lesson.steps ? 'To the live system' : 'Next idea';
  const href = neighbour(lesson, at, 1);
  return moving(el('a', { id: 'lesson-next', class: 'button main', href, role: 'button' }, label), 1);
}

/**
 * A link that leads on from wherever the reader has got to by now, not from what it was made for. To open it elsewhere, it is a link.
 * @param {HTMLElement} link
 * @param {1 | -1} by
 */
function moving(link, by) {
  link.addEventListener('click', (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    move(by);
  });
  return link;
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
          id: `idea-${index + 1}`,
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
