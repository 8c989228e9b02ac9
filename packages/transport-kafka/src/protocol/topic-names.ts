/** A topic as it appears on the wire. */
export interface WireTopic {
  readonly topic: string;
  readonly utf8: Uint8Array;
  /** The id that was last spoken of, as text and as the wire has it. */
  topicId: string | undefined;
  id: Uint8Array | undefined;
}

/** The topics this transport has sent to, encoded once each. As many as the application sends to. */
export class TopicNames {
  readonly #byName = new Map<string, WireTopic>();

  of(topic: string): WireTopic {
    let known = this.#byName.get(topic);
    if (!known) {
      known = { topic, utf8: Buffer.from(topic), topicId: undefined, id: undefined };
      this.#byName.set(topic, known);
    }
    return known;
  }

  /** 16 bytes. Produce requests from version 13 on name topics by id. */
  idOf(topic: WireTopic, topicId: string | undefined): Uint8Array | undefined {
    if (topicId === undefined) return undefined;
    if (topic.topicId !== topicId) {
      topic.topicId = topicId;
      topic.id = Buffer.from(topicId, 'base64url');
    }
    return topic.id;
  }
}
