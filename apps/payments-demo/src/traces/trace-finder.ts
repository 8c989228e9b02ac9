import type { Attributes } from '@opentelemetry/api';
import type { ReadableSpan, SpanProcessor } from '@opentelemetry/sdk-trace';

/** Traces that are worth a look, by their ids. */
export interface StormTraces {
  /** One whose repeat the broker recognised, if there is one; of these the one that failed in the most ways, then the most often. */
  readonly retried: { readonly traceId: string; readonly attempts: number } | null;
  /** A payment that the ledger had applied before; `null` when there was none. */
  readonly recognised: { readonly traceId: string } | null;
}

/** Watches spans end, and remembers the traces to show. */
export class TraceFinder implements SpanProcessor {
  #retried: StormTraces['retried'] = null;
  #best = 0;
  #recognised: StormTraces['recognised'] = null;

  get found(): StormTraces {
    return { retried: this.#retried, recognised: this.#recognised };
  }

  onStart(): void {}

  onEnd(span: ReadableSpan): void {
    const { name, attributes } = span;
    const { traceId } = span.spanContext();
    // The attempts lie in the trace that the batch's span is in.
    if (name.startsWith('produce ')) this.#noteBatch(traceId, attributes);
    if (attributes['sendonce.dedup.outcome'] === 'duplicate') this.#recognised ??= { traceId };
  }

  #noteBatch(traceId: string, attributes: Attributes): void {
    const attempts = Number(attributes['sendonce.attempts'] ?? 0);
    if (attempts < 2) return;
    const ways = (attributes['sendonce.retry.classes'] as string[] | undefined)?.length ?? 0;
    const isRecognised = attributes['sendonce.duplicate'] === 'confirmed';
    const worth = (isRecognised ? 1e6 : 0) + ways * 1e3 + Math.min(attempts, 999);
    if (worth <= this.#best) return;
    this.#best = worth;
    this.#retried = { traceId, attempts };
  }

  async forceFlush(): Promise<void> {}
  async shutdown(): Promise<void> {}
}
