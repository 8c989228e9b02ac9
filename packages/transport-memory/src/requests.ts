import type {
  ClusterMetadata,
  PartitionResult,
  ProduceRequest,
  ProducerIdentity,
} from '@sendonce/producer-core/transport';

export type ApiName = 'produce' | 'initProducerId' | 'metadata';

/** What a client can ask a broker. */
export type ClusterRequest =
  | { readonly api: 'produce'; readonly produce: ProduceRequest }
  | { readonly api: 'initProducerId' }
  | { readonly api: 'metadata'; readonly topics: readonly string[] };

export type ClusterReply =
  | { readonly api: 'produce'; readonly results: PartitionResult[] }
  | { readonly api: 'initProducerId'; readonly identity: ProducerIdentity }
  | { readonly api: 'metadata'; readonly metadata: ClusterMetadata }
  /** An error of the request as a whole. */
  | { readonly api: 'error'; readonly errorCode: number };

export interface PartitionName {
  readonly topic: string;
  readonly partition: number;
}

const noPartitions: readonly PartitionName[] = [];

/** The partitions that a request is about. */
export function partitionsOf(request: ClusterRequest): readonly PartitionName[] {
  if (request.api !== 'produce') return noPartitions;
  return request.produce.partitions.map(({ topic, partition }) => ({ topic, partition }));
}

/** A copy that stays as it is when the sender uses its buffers again: what a socket buffer holds. */
export function detach(request: ClusterRequest): ClusterRequest {
  if (request.api !== 'produce') return request;
  const { produce } = request;
  const partitions = produce.partitions.map((each) => ({ ...each, batch: Buffer.from(each.batch) }));
  return { api: 'produce', produce: { ...produce, partitions } };
}

/** What an event tells of a request. */
export function requestFields(brokerId: number, request: ClusterRequest) {
  return { brokerId, api: request.api, partitions: partitionsOf(request) };
}
