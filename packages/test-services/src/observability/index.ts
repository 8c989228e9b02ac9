/** Zipkin and Prometheus for tests and the demo. Not published. */
export { type Prometheus, type PrometheusOptions, promtool, startPrometheus } from './prometheus.ts';
export { startZipkin, type Zipkin, type ZipkinOptions, type ZipkinSpan } from './zipkin.ts';
