/** @import { ControlView } from '../../lab/snapshot.ts' */
import { byId, el } from './dom.js';

const groupTitles = { send: 'Send', network: 'Network', brokers: 'Brokers', processes: 'Processes' };

/** @type {Map<string, HTMLElement>} */
const buttons = new Map();

/**
 * Buttons stay the same elements for good, so that the keyboard's place is never lost.
 * @param {readonly ControlView[]} controls
 */
export function showControls(controls) {
  if (buttons.size === 0) build(controls);
  for (const { action, label, expect, blocked, on } of controls) {
    const button = buttons.get(action);
    if (button === undefined) continue;
    if (button.textContent !== label) button.textContent = label;
    setAttribute(button, 'aria-disabled', blocked === null ? null : 'true');
    setAttribute(button, 'aria-pressed', on === null ? null : String(on));
    const text = blocked ?? expect;
    const sentence = byId(`expect-${action}`);
    if (sentence.textContent !== text) sentence.textContent = text;
  }
}

/** @param {string} action */
export function focusControl(action) {
  buttons.get(action)?.focus();
}

/** @param {readonly ControlView[]} controls */
function build(controls) {
  for (const [group, title] of Object.entries(groupTitles)) {
    const ofGroup = controls.filter((control) => control.group === group);
    if (ofGroup.length === 0) continue;
    byId('control-groups').append(
      el(
        'div',
        { class: 'controls', role: 'group', 'aria-label': title },
        el('h3', {}, title),
        ...ofGroup.map(control),
      ),
    );
  }
}

/** @param {ControlView} view */
function control({ action, label, expect }) {
  const button = el('button', { type: 'button', 'data-action': action, 'aria-describedby': `expect-${action}` }, label);
  button.addEventListener('click', () => {
    if (button.getAttribute('aria-disabled') !== 'true') void press(action);
  });
  buttons.set(action, button);
  return el('div', { class: 'control' }, button, el('p', { id: `expect-${action}` }, expect));
}

/** @param {string} action */
async function press(action) {
  const refusal = byId('refusal');
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
