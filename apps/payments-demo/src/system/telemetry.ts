import { PrometheusExporter } from '@opentelemetry/exporter-prometheus';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import { createTelemetry, type Telemetry } from '@sendonce/otel';
import type { FastifyInstance } from 'fastify';

export interface SystemTelemetry extends Pick<Telemetry, 'producerHooks' | 'dedupHooks'> {
  /** Adds `/metrics`, as Prometheus reads it. */
  addRoute(app: FastifyInstance): void;
  close(): Promise<void>;
}

export function startTelemetry(): SystemTelemetry {
  const exporter = new PrometheusExporter({ preventServerStart: true });
  const resource = resourceFromAttributes({ 'service.name': 'payments-demo' });
  const meterProvider = new MeterProvider({ readers: [exporter], resource });
  const { producerHooks, dedupHooks } = createTelemetry({ meterProvider });
  return {
    producerHooks,
    dedupHooks,
    addRoute: (app) =>
      void app.get('/metrics', { logLevel: 'warn' }, (request, reply) => {
        reply.hijack();
        exporter.getMetricsRequestHandler(request.raw, reply.raw);
      }),
    close: () => meterProvider.shutdown(),
  };
}
