import { context, ROOT_CONTEXT, SpanKind, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { SimpleSpanProcessor, type SpanExporter, TracerProvider } from '@opentelemetry/sdk-trace';
import { createDeduplicator, memoryStore } from '@sendonce/consumer-dedup';
import { createTelemetry } from '@sendonce/otel';
import { createProducer, type RecordMetadata } from '@sendonce/producer-core';
import { createMemoryCluster } from '@sendonce/transport-memory';

const notLeaderOrFollower = 6;
const topic = 'payments';

export interface PaymentStory {
  /** The trace of the payment that took three attempts. */
  readonly traceId: string;
  readonly place: RecordMetadata;
}

/**
 * A payment, as two services see it: the API that sends it, in three attempts, and the ledger that applies it. The client sends the same payment
 * again a moment later, in a batch with another one, and the ledger recognises it.
 */
export async function playPaymentStory(exporter: SpanExporter, serviceName: string): Promise<PaymentStory> {
  context.disable();
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const tracerProvider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': serviceName }),
    spanProcessors: [new SimpleSpanProcessor({ exporter })],
  });
  const telemetry = createTelemetry({ tracerProvider, propagator: new W3CTraceContextPropagator() });
  const application = tracerProvider.getTracer('payments-api');

  const cluster = createMemoryCluster({ brokers: 3, topics: { [topic]: {} }, latencyMs: 2 });
  const producer = await createProducer({
    transport: cluster.transport(),
    clientId: serviceName,
    requestTimeoutMs: 200,
    retryBackoffMs: 50,
    logger: { info: () => {}, warn: () => {} },
    hooks: telemetry.producerHooks,
  });
  const ledger = createDeduplicator({ store: memoryStore(), namespace: 'ledger', hooks: telemetry.dedupHooks });

  /** POST /payments with the client's idempotency key. */
  const pay = (paymentId: string): { traceId: string; stored: Promise<RecordMetadata> } => {
    const request = application.startSpan('POST /payments', { kind: SpanKind.SERVER }, ROOT_CONTEXT);
    const stored = context.with(trace.setSpan(ROOT_CONTEXT, request), () =>
      producer.send({ topic, value: '20.00 EUR', headers: { 'idempotency-key': paymentId } }),
    );
    return { traceId: request.spanContext().traceId, stored: stored.finally(() => request.end()) };
  };

  cluster.faults.answerWith(notLeaderOrFollower);
  cluster.faults.loseReply({ nth: 2 });
  const first = pay('payment-17');
  const place = await first.stored;
  await Promise.all([pay('payment-17').stored, pay('payment-18').stored]);

  const consumer = cluster.consumer({ groupId: 'ledger', topics: [topic] });
  let left = 3;
  for await (const message of consumer) {
    await ledger.process(message, async () => {
      application.startSpan('INSERT entries').end();
    });
    if (--left === 0) break;
  }
  await producer.close();
  await tracerProvider.forceFlush();
  await tracerProvider.shutdown();
  return { traceId: first.traceId, place };
}
