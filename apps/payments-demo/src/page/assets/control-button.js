/** @import { ControlView } from '../../lab/snapshot.ts' */
import { el } from './dom.js';

/**
 * A button of the live system, with the sentence that says what to expect.
 * @typedef {object} ControlButton
 * @property {string} action
 * @property {HTMLElement} element
 * @property {(view: ControlView) => void} show
 * @property {() => void} focus
 */

/**
 * Stays the same element for good, so that the keyboard's place is never lost.
 * @param {'action' | 'try'} place Among the buttons of the live view, or in the lesson.
 * @param {string} action
 * @param {HTMLElement} refusal Where it is said when the press was refused.
 * @param {() => void} [onPress] Called before it is pressed.
 * @returns {ControlButton}
 */
export function controlButton(place, action, refusal, onPress = () => {}) {
  const sentence = el('p', { id: place === 'try' ? `expect-try-${action}` : `expect-${action}` });
  const button = el('button', {
    type: 'button',
    id: `${place}-${action}`,
    [`data-${place}`]: action,
    'aria-describedby': sentence.id,
  });
  button.addEventListener('click', () => {
    if (button.getAttribute('aria-disabled') === 'true') return;
    onPress();
    void press(action, refusal);
  });
  return {
    action,
    element: el('div', { class: 'control' }, button, sentence),
    focus: () => button.focus(),
    show({ label, expect, blocked, on }) {
      if (button.textContent !== label) button.textContent = label;
      setAttribute(button, 'aria-disabled', blocked === null ? null : 'true');
      setAttribute(button, 'aria-pressed', on === null ? null : String(on));
      const text = blocked ?? expect;
      if (sentence.textContent !== text) sentence.textContent = text;
    },
  };
}

/**
 * @param {string} action
 * @param {HTMLElement} refusal
 */
async function press(action, refusal) {
  refusal.textContent = '';
  try {
    const response = await fetch(`/lab/${action}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    });
    if (response.ok) return;
    const { message } = await response.json();
    refusal.textContent = message;
  } catch {
    refusal.textContent = 'The demo does not answer. Is it still running?';
  }
}

/**
 * @param {HTMLElement} element
 * @param {string} name
 * @param {string | null} value
 */
function setAttribute(element, name, value) {
  if (value === null) element.removeAttribute(name);
  else if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}
