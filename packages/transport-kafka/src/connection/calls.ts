import {
  type BrokerMetadata,
  type PartitionResult,
  type ProduceRequest,
  type ProducerIdentity,
  ProtocolError,
  protocolErrorCodes,
  protocolErrorName,
  type TransportError,
} from '@sendonce/producer-core/transport';
import {
  type ApiVersionsReply,
  type ApiVersionsVersion,
  decodeApiVersions,
  encodeApiVersions,
} from '../protocol/api-versions.ts';
import { decodeInitProducerId, encodeInitProducerId } from '../protocol/init-producer-id.ts';
import { decodeMetadata, encodeMetadata, type MetadataReply, type MetadataRequest } from '../protocol/metadata.ts';
import { decodeProduce } from '../protocol/produce-reply.ts';
import { encodeProduce, groupByTopic, produceVersion, type TopicGroup } from '../protocol/produce-request.ts';
import type { TopicNames } from '../protocol/topic-names.ts';
import type { WireReader } from '../protocol/wire-reader.ts';
import type { Call, EncodeTarget } from './call.ts';

type Resolve<T> = (value: T) => void;
type Reject = (error: Error) => void;

/** What the kinds of calls that always get a reply share. */
abstract class AnsweredCall<T> implements Call {
  readonly expectsReply = true;
  deadlineMs = 0;
  correlationId = 0;
  protected readonly resolve: Resolve<T>;
  protected readonly reject: Reject;

  constructor(resolve: Resolve<T>, reject: Reject) {
    this.resolve = resolve;
    this.reject = reject;
  }

  abstract encode(target: EncodeTarget, correlationId: number): void;
  abstract answer(reader: WireReader): number;

  unanswered(): never {
    throw new Error('This request has an answer.');
  }

  fail(error: TransportError): void {
    this.reject(error);
  }
}

export class ApiVersionsCall extends AnsweredCall<ApiVersionsReply> {
  readonly #version: ApiVersionsVersion;

  constructor(version: ApiVersionsVersion, resolve: Resolve<ApiVersionsReply>, reject: Reject) {
    super(resolve, reject);
    this.#version = version;
  }

  encode({ writer, pieces, clientId }: EncodeTarget, correlationId: number): void {
    pieces.push(encodeApiVersions(writer, this.#version, correlationId, clientId));
  }

  answer(reader: WireReader): number {
    this.resolve(decodeApiVersions(reader, this.#version));
    return 0;
  }
}

const rebootstrapRequired = 129;
const retriableErrors = new Set<number>([
  protocolErrorCodes.LEADER_NOT_AVAILABLE,
  protocolErrorCodes.REQUEST_TIMED_OUT,
  protocolErrorCodes.NETWORK_EXCEPTION,
  protocolErrorCodes.COORDINATOR_LOAD_IN_PROGRESS,
  protocolErrorCodes.COORDINATOR_NOT_AVAILABLE,
  protocolErrorCodes.NOT_COORDINATOR,
  protocolErrorCodes.NOT_CONTROLLER,
  rebootstrapRequired,
]);

function refused(request: string, errorCode: number, whatToDo = ''): ProtocolError {
  const name = protocolErrorName(errorCode);
  return new ProtocolError(`The broker refused ${request}: ${name} (${errorCode}).${whatToDo}`, errorCode, {
    retriable: retriableErrors.has(errorCode),
  });
}

export class MetadataCall extends AnsweredCall<MetadataReply> {
  readonly #request: MetadataRequest;
  #version = 0;

  constructor(request: MetadataRequest, resolve: Resolve<MetadataReply>, reject: Reject) {
    super(resolve, reject);
    this.#request = request;
  }

  encode({ writer, pieces, clientId, versions }: EncodeTarget, correlationId: number): void {
    this.#version = versions.metadata;
    pieces.push(encodeMetadata(writer, this.#version, correlationId, clientId, this.#request));
  }

  answer(reader: WireReader): number {
    const reply = decodeMetadata(reader, this.#version);
    if (reply.errorCode === 0) this.resolve(reply);
    else this.reject(refused('the metadata request', reply.errorCode));
    return reply.throttleTimeMs;
  }
}

/** Since Kafka 2.8 the right to write to any topic includes it (KIP-679). */
function whatToDoAboutIdentity(errorCode: number): string {
  return errorCode === protocolErrorCodes.CLUSTER_AUTHORIZATION_FAILED
    ? ' Grant this client WRITE on a topic, or IDEMPOTENT_WRITE on the cluster.'
    : '';
}

export class InitProducerIdCall extends AnsweredCall<ProducerIdentity> {
  #version = 0;

  encode({ writer, pieces, clientId, versions }: EncodeTarget, correlationId: number): void {
    this.#version = versions.initProducerId;
    pieces.push(encodeInitProducerId(writer, this.#version, correlationId, clientId));
  }

  answer(reader: WireReader): number {
    const { errorCode, producerId, epoch, throttleTimeMs } = decodeInitProducerId(reader, this.#version);
    if (errorCode === 0) this.resolve({ producerId, epoch });
    else this.reject(refused('a producer id', errorCode, whatToDoAboutIdentity(errorCode)));
    return throttleTimeMs;
  }
}

const unknownOffset = -1n;

export class ProduceCall implements Call {
  readonly expectsReply: boolean;
  deadlineMs = 0;
  correlationId = 0;
  readonly #request: ProduceRequest;
  readonly #names: TopicNames;
  readonly #onEndpoints: (endpoints: readonly BrokerMetadata[]) => void;
  readonly #resolve: Resolve<PartitionResult[]>;
  readonly #reject: Reject;
  #groups: readonly TopicGroup[] = [];
  #version = 0;

  constructor(
    request: ProduceRequest,
    names: TopicNames,
    onEndpoints: (endpoints: readonly BrokerMetadata[]) => void,
    resolve: Resolve<PartitionResult[]>,
    reject: Reject,
  ) {
    this.expectsReply = request.acks !== 'none';
    this.#request = request;
    this.#names = names;
    this.#onEndpoints = onEndpoints;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  encode({ writer, pieces, clientId, versions }: EncodeTarget, correlationId: number): void {
    const request = this.#request;
    const groups = groupByTopic(request, this.#names);
    const version = produceVersion(versions.produce, groups);
    this.#groups = groups;
    this.#version = version;
    encodeProduce(writer, { version, correlationId, clientId, request, groups }, pieces);
  }

  answer(reader: WireReader): number {
    const { results, throttleTimeMs, endpoints } = decodeProduce(reader, this.#version, this.#request, this.#groups);
    if (endpoints.length > 0) this.#onEndpoints(endpoints);
    this.#resolve(results);
    return throttleTimeMs;
  }

  unanswered(): void {
    this.#resolve(
      this.#request.partitions.map(({ topic, partition }) => ({
        topic,
        partition,
        errorCode: 0,
        baseOffset: unknownOffset,
        logAppendTimeMs: -1,
        logStartOffset: unknownOffset,
      })),
    );
  }

  fail(error: TransportError): void {
    this.#reject(error);
  }
}
