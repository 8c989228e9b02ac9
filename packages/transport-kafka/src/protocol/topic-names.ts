/** A topic as it appears on the wire. */
export interface WireTopic {
  readonly topic: string;
  readonly utf8: Uint8Array;
  /** 16 bytes, once a metadata reply told it. Produce requests from version 13 on name topics by id. */
  id: Uint8Array | undefined;
}

/** The topics this transport has met, encoded once each. As many as the application sends to or asks about. */
export class TopicNames {
  readonly #byName = new Map<string, WireTopic>();

  of(topic: string): WireTopic {
    let known = this.#byName.get(topic);
    if (!known) {
      known = { topic, utf8: Buffer.from(topic), id: undefined };
      this.#byName.set(topic, known);
    }
    return known;
  }

  /** A metadata reply told the topic's id, or that there is none (any more). */
  learn(topic: string, topicId: string | undefined): void {
    this.of(topic).id = topicId === undefined ? undefined : Buffer.from(topicId, 'base64url');
  }
}
