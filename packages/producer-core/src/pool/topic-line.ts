import type { Producer } from '../producer.ts';
import type { PooledSend, WaitingPlace } from './pooled-send.ts';

/** Sends to one topic whose partitions are not known, in the order of the calls. */
export class TopicLine implements WaitingPlace {
  readonly topic: string;
  readonly waitsFor: string;
  readonly timeoutCode = 'METADATA_TIMEOUT';
  readonly #sends = new Set<PooledSend>();

  constructor(topic: string) {
    this.topic = topic;
    this.waitsFor = `the metadata of topic ${topic}`;
  }

  get isEmpty(): boolean {
    return this.#sends.size === 0;
  }

  push(send: PooledSend): void {
    this.#sends.add(send);
    send.place = this;
  }

  forget(send: PooledSend): void {
    this.#sends.delete(send);
  }

  /**
   * Asks for the topic's partitions, and passes on what they let go. A topic that can't be had fails those that were there when it
   * was asked for; the question is put again for whoever came later. A router that stops under way fails nobody. `onEmpty` is called
   * as soon as nobody waits, before anyone can come.
   */
  async work(
    findRouter: () => Producer | Promise<Producer>,
    passOn: (send: PooledSend) => void,
    onEmpty: () => void,
  ): Promise<void> {
    while (!this.isEmpty) {
      const present = [...this.#sends];
      let router: Producer | null = null;
      try {
        router = await findRouter();
        await router.topicKnown(this.topic);
        if (router.state === 'ready') this.#route(router, passOn);
      } catch (error) {
        if (router === null || router.state === 'ready') for (const send of present) send.fail(error);
      }
    }
    onEmpty();
  }

  #route(router: Producer, passOn: (send: PooledSend) => void): void {
    for (const send of this.#sends) {
      try {
        send.record = router.route(send.record, send.isRouted);
        send.isRouted = true;
      } catch (error) {
        send.fail(error);
        continue;
      }
      // The router forgot the topic meanwhile: it is asked again.
      if (send.record.partition === undefined) return;
      this.#sends.delete(send);
      passOn(send);
    }
  }
}
