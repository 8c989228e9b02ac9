import { ZipkinExporter } from '@opentelemetry/exporter-zipkin';
import { startZipkin } from '@sendonce/test-services/observability';
import { TextPrinter } from './narration/text-printer.ts';
import { runUntilStopped } from './start/run.ts';
import { playTracedStorm, serviceName } from './traces/traced-storm.ts';

const seed = 2026;

/** `npm run demo:traces`: Zipkin, the storm with telemetry on, and where to look. */
await runUntilStopped(async () => {
  const say = (line: string): void => void process.stdout.write(`${line}\n`);
  say('Starting Zipkin (the first time its jar, 130 MB, is fetched with Maven).');
  const zipkin = await startZipkin();
  try {
    say('Playing the storm with telemetry on.');
    const { script, traces } = await playTracedStorm(seed, new ZipkinExporter({ url: zipkin.spansUrl }));
    const printer = new TextPrinter(process.stdout);
    for (const item of script) if (item.type === 'table' || item.type === 'check') printer.item(item);
    const link = (traceId: string): string => `${zipkin.url}/zipkin/traces/${traceId}`;
    const { retried, recognised } = traces;
    if (retried === null) throw new Error('no payment was retried, so there is no trace to show');
    const retries = new URLSearchParams({
      serviceName,
      annotationQuery: 'sendonce.retried=true',
      lookback: '1h',
      limit: '100',
    });
    say(`\nA payment that took ${retried.attempts} attempts, and is stored once:\n  ${link(retried.traceId)}`);
    if (recognised !== null) say(`A payment that the ledger had applied before:\n  ${link(recognised.traceId)}`);
    say(`Every payment that was retried:\n  ${zipkin.url}/zipkin/?${retries}`);
    say('\nCtrl-C stops Zipkin.');
    return zipkin;
  } catch (error) {
    await zipkin.close();
    throw error;
  }
});
