/** What has to be closed, in the order in which it was opened; closed the other way round. */
export class Shutdown {
  readonly #steps: (() => Promise<unknown>)[] = [];
  #closing: Promise<void> | null = null;

  add(step: () => Promise<unknown>): void {
    this.#steps.push(step);
  }

  /** One step after the other. A step that fails does not keep the others from being taken; its error comes at the end. The same promise when called again. */
  run(): Promise<void> {
    this.#closing ??= this.#run();
    return this.#closing;
  }

  async #run(): Promise<void> {
    const errors: unknown[] = [];
    for (const step of this.#steps.splice(0).reverse()) await step().catch((error: unknown) => errors.push(error));
    if (errors.length > 0) throw errors[0];
  }
}
