/** @import { ControlView } from '../../lab/snapshot.ts' */
/** @import { ControlButton } from './control-button.js' */
import { controlButton } from './control-button.js';
import { byId, el } from './dom.js';

const groupTitles = { send: 'Send', network: 'Network', brokers: 'Brokers', processes: 'Processes' };

/** @type {Map<string, ControlButton>} */
const buttons = new Map();

/** @param {readonly ControlView[]} controls */
export function showControls(controls) {
  if (buttons.size === 0) build(controls);
  for (const control of controls) buttons.get(control.action)?.show(control);
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
        ...ofGroup.map(({ action }) => {
          const button = controlButton('action', action, byId('refusal'));
          buttons.set(action, button);
          return button.element;
        }),
      ),
    );
  }
}
