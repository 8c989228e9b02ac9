/**
 * @typedef {Node | string | number | null} Child
 * @typedef {{ [name: string]: string | number | boolean | null }} Attributes
 */

/**
 * Makes an element. Strings become text, whatever they hold: nothing on this page is ever parsed as HTML.
 * @param {string} name
 * @param {Attributes} [attributes] `null` and `false` leave the attribute out.
 * @param {...Child} children
 * @returns {HTMLElement}
 */
export function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) {
    if (value !== null && value !== false) element.setAttribute(attribute, value === true ? '' : String(value));
  }
  for (const child of children) if (child !== null) element.append(typeof child === 'number' ? String(child) : child);
  return element;
}

/**
 * The element of the page with this id.
 * @param {string} id
 * @returns {HTMLElement}
 */
export function byId(id) {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`The page has no element "${id}".`);
  return element;
}

/** @type {WeakMap<HTMLElement, string>} */
const shown = new WeakMap();

/**
 * Fills an element anew, unless what it shows has not changed.
 * @template T
 * @param {HTMLElement} element
 * @param {T} data
 * @param {(data: T) => Child[]} render
 */
export function fill(element, data, render) {
  const json = JSON.stringify(data);
  if (shown.get(element) === json) return;
  shown.set(element, json);
  element.replaceChildren(
    ...render(data)
      .filter((child) => child !== null)
      .map((child) => (typeof child === 'number' ? String(child) : child)),
  );
}
