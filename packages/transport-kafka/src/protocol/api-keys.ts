/** Kafka's numbers of the requests that this transport speaks. */
export const apiKeys = { produce: 0, metadata: 3, apiVersions: 18, initProducerId: 22, saslAuthenticate: 36 } as const;

export interface VersionRange {
  readonly min: number;
  readonly max: number;
}

/** The requests whose version is negotiated with each broker. */
export type NegotiatedApi = 'produce' | 'metadata' | 'initProducerId';

export type VersionRanges = Readonly<Record<NegotiatedApi, VersionRange>>;

/**
 * What this transport can encode and decode. Kafka 2.8 to 4.x speak at least Produce 9, Metadata 9 and InitProducerId 2; the
 * lower ones serve services that are Kafka by protocol only.
 */
export const supportedVersions: VersionRanges = {
  produce: { min: 3, max: 13 },
  metadata: { min: 4, max: 13 },
  initProducerId: { min: 0, max: 5 },
};

/** First versions with compact lengths and tagged fields (KIP-482). */
export const firstFlexibleVersion: Readonly<Record<NegotiatedApi, number>> = {
  produce: 9,
  metadata: 9,
  initProducerId: 2,
};
