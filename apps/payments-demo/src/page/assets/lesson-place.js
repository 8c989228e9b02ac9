/** @import { LessonStep } from '../../lab/lesson/lesson-frame.ts' */

/**
 * Where in the lesson: a step, one of its moments (both from 1), and whether the live system is shown beside it instead of the example.
 * @typedef {{ step: number, moment: number, isLive: boolean }} LessonPlace
 */

/** @type {Map<number, Promise<LessonStep>>} */
const steps = new Map();

/** Moves that are under way, one after the other. */
let moving = Promise.resolve();

/**
 * Reads `#lesson/7`, `#lesson/7/2`, `#lesson/7/last`, and each with `/live` behind.
 * @param {string} hash
 * @returns {LessonPlace | null}
 */
export function lessonPlaceOf(hash) {
  const found = /^#lesson\/(\d{1,3})(?:\/(\d{1,3}|last))?(\/live)?$/.exec(hash);
  if (found === null) return null;
  const moment = found[2] === 'last' ? Number.POSITIVE_INFINITY : Number(found[2] ?? 1);
  return { step: Math.max(1, Number(found[1])), moment: Math.max(1, moment), isLive: found[3] !== undefined };
}

/** @param {LessonPlace} place */
export function hashOf({ step, moment, isLive }) {
  const at = Number.isFinite(moment) ? moment : 'last';
  return `#lesson/${step}/${at}${isLive ? '/live' : ''}`;
}

/**
 * The server plays the lesson anew up to the step, so going back shows what was there.
 * @param {number} step
 */
export function loadStep(step) {
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
 * Where the lesson goes from a moment; null where it ends.
 * @param {LessonStep} lesson
 * @param {number} moment
 * @param {1 | -1} by
 */
export function neighbour({ step, steps: length, frames }, moment, by) {
  const at = Math.min(moment, frames.length);
  if (by === 1) {
    if (at < frames.length) return hashOf({ step, moment: at + 1, isLive: false });
    return step < length ? hashOf({ step: step + 1, moment: 1, isLive: false }) : '#live';
  }
  if (at > 1) return hashOf({ step, moment: at - 1, isLive: false });
  return step > 1 ? hashOf({ step: step - 1, moment: Number.POSITIVE_INFINITY, isLive: false }) : null;
}

/**
 * Goes one moment on or back from where the address says we are. That may be further than what is shown so far: who presses faster than
 * steps arrive gets as far as they pressed.
 * @param {1 | -1} by
 */
export function move(by) {
  moving = moving.then(() => moveOnce(by));
}

/** @param {1 | -1} by */
async function moveOnce(by) {
  const { hash } = window.location;
  const place = lessonPlaceOf(hash);
  if (place === null) return;
  const lesson = await loadStep(place.step).catch(() => null);
  // Somebody went elsewhere while the step was on its way, or it did not come: then that is shown.
  if (lesson === null || window.location.hash !== hash) return;
  const next = neighbour(lesson, place.moment, by);
  if (next !== null) window.location.hash = next;
}
