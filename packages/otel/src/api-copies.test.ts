import { TracerProvider } from '@opentelemetry/sdk-trace';
import * as older from 'opentelemetry-api-1-9';
import { expect, test } from 'vitest';
import { sdkIsOutOfReach } from './api-copies.ts';
import { createTelemetry } from './telemetry.ts';

test('an SDK that registered with an older copy of the API is out of reach: said once, with both versions and the way out', async () => {
  const warnings: Error[] = [];
  process.on('warning', (warning) => warnings.push(warning));
  createTelemetry();
  expect(sdkIsOutOfReach()).toBe(false);

  older.trace.setGlobalTracerProvider(new TracerProvider());
  expect(sdkIsOutOfReach()).toBe(true);
  const telemetry = createTelemetry();
  createTelemetry();
  telemetry.producerHooks.onProducerStarted!({
    clientId: 'payments',
    guarantees: {} as never,
    stats: () => expect.unreachable(),
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(warnings).toHaveLength(1);
  expect(warnings[0]!.message).toMatch(/api 1\.9\.1, .* copy, 1\.10\.\d+.*npm dedupe/s);
});
