/** What a value beyond the limit is counted under. */
export const otherValues = '_other';

/**
 * Bounds the values of a label: the first `limit` under their names, later ones together. Without a bound a service with thousands
 * of topics would fill the SDK's series limit, and queries would miss what fell out, silently.
 */
export class BoundedLabel {
  readonly #limit: number;
  readonly #known = new Set<string>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  of(value: string): string {
    if (this.#known.has(value)) return value;
    if (this.#known.size >= this.#limit) return otherValues;
    this.#known.add(value);
    return value;
  }
}
