/**
 * Who may import whom (design section 2). A package that is not here may not exist.
 * `imports` are the only modules its shipped code may name besides its own files and Node's. A name ending in `/*` allows every
 * subpath. Tests and examples (`isTestCode`) may import what the package's manifest lists.
 */
export interface PackageRule {
  readonly imports: readonly string[];
}

const contract = ['@sendonce/producer-core/transport', '@sendonce/producer-core/record-batch'];

export const packageRules: Readonly<Record<string, PackageRule>> = {
  // No transport, no telemetry, no client library: only codecs and a checksum.
  '@sendonce/producer-core': { imports: ['@node-rs/crc32', 'snappy', 'lz4-napi'] },
  '@sendonce/transport-memory': { imports: contract },
  '@sendonce/transport-kafka': { imports: [...contract, 'kafkajs'] },
  '@sendonce/consumer-dedup': { imports: ['ioredis', 'pg', '@electric-sql/pglite'] },
  '@sendonce/otel': { imports: ['@sendonce/producer-core', '@sendonce/consumer-dedup', '@opentelemetry/api'] },
  // Starts real brokers and databases for tests. Private, and nothing that ships may import it.
  '@sendonce/test-services': { imports: ['kafkajs', 'ioredis', 'pg'] },
  // Producer and memory broker under random faults. Private: nobody installs it.
  '@sendonce/simulation': {
    imports: ['@sendonce/producer-core', '@sendonce/producer-core/*', '@sendonce/transport-memory'],
  },
  '@sendonce/payments-demo': {
    imports: [
      '@sendonce/producer-core',
      '@sendonce/producer-core/*',
      '@sendonce/transport-memory',
      '@sendonce/transport-kafka',
      '@sendonce/consumer-dedup',
      '@sendonce/consumer-dedup/*',
      '@sendonce/otel',
      '@sendonce/test-services',
      '@sendonce/test-services/*',
      '@electric-sql/pglite',
      '@fastify/helmet',
      '@opentelemetry/api',
      '@opentelemetry/core',
      '@opentelemetry/exporter-prometheus',
      '@opentelemetry/exporter-zipkin',
      '@opentelemetry/resources',
      '@opentelemetry/sdk-metrics',
      '@opentelemetry/sdk-trace',
      'fastify',
      'ioredis',
      'kafkajs',
      'pg',
    ],
  },
};

/** Folders and names whose files never ship: tests, and what several test files share (`*.testkit.ts`). */
export function isTestCode(path: string): boolean {
  return /\.(test|testkit)\.ts$|^(test|examples)\//.test(path);
}

/** The repository's own tools that work on what packages don't export: decoders are fuzzed one by one. Nothing of it ships. */
export function mayReachInside(path: string): boolean {
  return path.startsWith('scripts/fuzz/');
}
