/** What a topic beyond the limit is counted under. */
export const otherTopics = '_other';

/**
 * Bounds the values of the topic label: the first `limit` topics under their names, later ones together. Without a bound a service
 * with thousands of topics would fill the SDK's series limit, and queries would miss what fell out, silently.
 */
export class TopicLabels {
  readonly #limit: number;
  readonly #known = new Set<string>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  of(topic: string): string {
    if (this.#known.has(topic)) return topic;
    if (this.#known.size >= this.#limit) return otherTopics;
    this.#known.add(topic);
    return topic;
  }
}
