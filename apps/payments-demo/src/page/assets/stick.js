/**
 * Tells the style sheet how tall an element is, for one that sticks to the window and may be taller.
 * @param {HTMLElement} element
 */
export function measure(element) {
  new ResizeObserver(() => element.style.setProperty('--height', `${element.offsetHeight}px`)).observe(element);
}
