/** @import { Range } from '../../lab/snapshot.ts' */

const numbers = new Intl.NumberFormat('en-US');
const money = new Intl.NumberFormat('en-US', { style: 'currency', currency: 'EUR' });

/** @param {number} amount */
export function numberText(amount) {
  return numbers.format(amount);
}

/** @param {number} minor */
export function moneyText(minor) {
  return money.format(minor / 100);
}

/** @param {Range} range */
export function rangeText({ first, last }) {
  return first === last ? `${first}` : `${first}–${last}`;
}

/**
 * @param {number} amount
 * @param {string} one
 */
export function countText(amount, one) {
  return `${numbers.format(amount)} ${one}${amount === 1 ? '' : 's'}`;
}

/**
 * Producers take turns with six colours; 0 is one that nobody knows.
 * @param {number} session
 */
export function sessionColour(session) {
  return session === 0 ? 'none' : String(((session - 1) % 6) + 1);
}
