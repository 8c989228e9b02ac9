import { type FaultProxy, startFaultProxy } from '../fault-proxy/proxy.ts';
import { type KafkaCluster, type KafkaOptions, startOwnKafka } from './cluster.ts';

/** A cluster that clients reach through a proxy which loses, delays and resets what it is told to. */
export interface KafkaBehindProxy extends AsyncDisposable {
  /** `kafka.bootstrap` goes round the proxy: for creating topics and reading back. */
  readonly kafka: KafkaCluster;
  readonly proxy: FaultProxy;
  /** `host:port` of the proxy for each broker: for the client under test. */
  readonly bootstrap: readonly string[];
  stop(): Promise<void>;
}

export async function startKafkaBehindProxy(options: Omit<KafkaOptions, 'advertise'> = {}): Promise<KafkaBehindProxy> {
  const proxy = await startFaultProxy({ brokers: options.brokers ?? 1 });
  try {
    const kafka = await startOwnKafka({ ...options, advertise: proxy.ports });
    proxy.leadTo(kafka.proxiedPorts);
    const stop = async () => {
      await proxy.stop();
      await kafka.stop();
    };
    return { kafka, proxy, bootstrap: proxy.bootstrap, stop, [Symbol.asyncDispose]: stop };
  } catch (error) {
    await proxy.stop();
    throw error;
  }
}
