/** What one `flush` waits for: batches and waiting records that came before it. */
export interface FlushGroup {
  readonly id: number;
  pending: number;
}

interface SealedGroup {
  readonly group: FlushGroup;
  readonly resolve: () => void;
}

/** Counts what is not settled, in groups that end where `flush` was called: constant cost, however much is pending. */
export class FlushTracker {
  #current: FlushGroup = { id: 0, pending: 0 };
  #sealed: SealedGroup[] = [];

  /** Adds one to the present group, which it returns. */
  enter(): FlushGroup {
    this.#current.pending++;
    return this.#current;
  }

  /** Adds one to a group that has something pending. */
  enterGroup(group: FlushGroup): FlushGroup {
    group.pending++;
    return group;
  }

  leave(group: FlushGroup): void {
    group.pending--;
    let done = 0;
    while (done < this.#sealed.length && this.#sealed[done]!.group.pending === 0) done++;
    if (done > 0) for (const { resolve } of this.#sealed.splice(0, done)) resolve();
  }

  /** Resolves when everything that entered before the call has left. */
  flush(): Promise<void> {
    const group = this.#current;
    if (group.pending === 0 && this.#sealed.length === 0) return Promise.resolve();
    this.#current = { id: group.id + 1, pending: 0 };
    return new Promise((resolve) => {
      this.#sealed.push({ group, resolve });
      // An empty group waits for the older ones only.
      group.pending++;
      this.leave(group);
    });
  }
}
