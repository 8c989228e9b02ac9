import type { Certificates } from './certificates.ts';

/** What SASL listeners accept. */
export interface SecuredListeners {
  /** Names and passwords, the same for PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512. */
  readonly users: Readonly<Record<string, string>>;
  /** Brokers end SASL sessions after this time (`connections.max.reauth.ms`); 0, the default: never. */
  readonly maxReauthMs?: number;
}

/** One port for each listener of one broker. */
export interface BrokerPorts {
  readonly direct: number;
  readonly controller: number;
  readonly proxied: number;
  readonly tls: number;
  readonly sasl: number;
  readonly saslTls: number;
}

export interface BrokerSetup {
  readonly brokerId: number;
  readonly ports: BrokerPorts;
  readonly logDir: string;
  /** Broker ids and controller ports of all brokers. */
  readonly voters: readonly { readonly brokerId: number; readonly controllerPort: number }[];
  /** The port that the PROXIED listener tells clients to use, where there is a proxy. */
  readonly advertisedProxyPort?: number | undefined;
  readonly secured?: (SecuredListeners & { readonly certificates: Certificates }) | undefined;
  readonly overrides?: Readonly<Record<string, string | number | boolean>> | undefined;
}

const mechanisms = ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512', 'OAUTHBEARER'] as const;

function securityProperties(secured: NonNullable<BrokerSetup['secured']>): Record<string, string | number> {
  const { certificates, users, maxReauthMs = 0 } = secured;
  const plainUsers = Object.entries(users).map(([name, password]) => `user_${name}="${password}"`);
  const jaas: Record<(typeof mechanisms)[number], string> = {
    PLAIN: `org.apache.kafka.common.security.plain.PlainLoginModule required ${plainUsers.join(' ')};`,
    'SCRAM-SHA-256': 'org.apache.kafka.common.security.scram.ScramLoginModule required;',
    'SCRAM-SHA-512': 'org.apache.kafka.common.security.scram.ScramLoginModule required;',
    OAUTHBEARER:
      'org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";',
  };
  const properties: Record<string, string | number> = {};
  for (const listener of ['tls', 'sasl_tls']) {
    properties[`listener.name.${listener}.ssl.keystore.type`] = 'PEM';
    properties[`listener.name.${listener}.ssl.keystore.location`] = certificates.brokerKeyAndCertificateFile;
  }
  for (const listener of ['sasl', 'sasl_tls']) {
    properties[`listener.name.${listener}.sasl.enabled.mechanisms`] = mechanisms.join(',');
    for (const mechanism of mechanisms) {
      const prefix = `listener.name.${listener}.${mechanism.toLowerCase()}`;
      properties[`${prefix}.sasl.jaas.config`] = jaas[mechanism];
      properties[`${prefix}.connections.max.reauth.ms`] = maxReauthMs;
    }
  }
  return properties;
}

/** The text of a broker's `server.properties`. */
export function brokerProperties(setup: BrokerSetup): string {
  const { brokerId, ports, voters, secured } = setup;
  const listeners: [name: string, protocol: string, port: number, advertised: number][] = [
    ['DIRECT', 'PLAINTEXT', ports.direct, ports.direct],
  ];
  if (setup.advertisedProxyPort !== undefined) {
    listeners.push(['PROXIED', 'PLAINTEXT', ports.proxied, setup.advertisedProxyPort]);
  }
  if (secured) {
    listeners.push(['TLS', 'SSL', ports.tls, ports.tls]);
    listeners.push(['SASL', 'SASL_PLAINTEXT', ports.sasl, ports.sasl]);
    listeners.push(['SASL_TLS', 'SASL_SSL', ports.saslTls, ports.saslTls]);
  }
  const replicas = Math.min(3, voters.length);
  const properties: Record<string, string | number | boolean> = {
    'node.id': brokerId,
    'process.roles': 'broker,controller',
    'controller.quorum.voters': voters.map((v) => `${v.brokerId}@127.0.0.1:${v.controllerPort}`).join(','),
    'controller.listener.names': 'CONTROLLER',
    'inter.broker.listener.name': 'DIRECT',
    listeners: [
      ...listeners.map(([name, , port]) => `${name}://127.0.0.1:${port}`),
      `CONTROLLER://127.0.0.1:${ports.controller}`,
    ].join(','),
    'advertised.listeners': listeners.map(([name, , , advertised]) => `${name}://127.0.0.1:${advertised}`).join(','),
    'listener.security.protocol.map': [
      ...listeners.map(([name, protocol]) => `${name}:${protocol}`),
      'CONTROLLER:PLAINTEXT',
    ].join(','),
    'log.dirs': setup.logDir,
    'auto.create.topics.enable': false,
    'group.initial.rebalance.delay.ms': 0,
    'offsets.topic.num.partitions': 1,
    'offsets.topic.replication.factor': replicas,
    'transaction.state.log.num.partitions': 1,
    'transaction.state.log.replication.factor': replicas,
    'transaction.state.log.min.isr': 1,
    'share.coordinator.state.topic.num.partitions': 1,
    'share.coordinator.state.topic.replication.factor': replicas,
    'log.cleaner.dedupe.buffer.size': 4_194_304,
    ...(secured ? securityProperties(secured) : {}),
    ...setup.overrides,
  };
  return `${Object.entries(properties)
    .map(([name, value]) => `${name}=${value}`)
    .join('\n')}\n`;
}
