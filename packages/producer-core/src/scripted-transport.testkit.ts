import { TransportError } from './errors.ts';
import { type CompressionCodec, decodeRecordBatch, readBatchHeader } from './record-batch/index.ts';
import { protocolErrorCodes } from './transport/protocol-errors.ts';
import type {
  ClusterMetadata,
  PartitionResult,
  ProduceRequest,
  ProducerIdentity,
  Transport,
} from './transport/transport.ts';

/** What one batch of a request looked like when it left: the bytes are the producer's again later. */
export interface SentBatch {
  readonly topic: string;
  readonly partition: number;
  readonly producerId: bigint;
  readonly epoch: number;
  readonly baseSequence: number;
  readonly values: string[];
  readonly hex: string;
}

/** A produce request that waits for the test to answer it. */
export class SentRequest {
  readonly brokerId: number;
  readonly request: ProduceRequest;
  readonly batches: SentBatch[];
  readonly reply: Promise<PartitionResult[]>;
  readonly #nextOffset: (place: string) => bigint;
  #resolve: (results: PartitionResult[]) => void = () => {};
  #reject: (error: Error) => void = () => {};

  constructor(
    brokerId: number,
    request: ProduceRequest,
    isDecoded: boolean,
    codecs: readonly CompressionCodec[],
    nextOffset: (place: string) => bigint,
  ) {
    this.#nextOffset = nextOffset;
    this.brokerId = brokerId;
    this.request = request;
    this.batches = request.partitions.map(({ topic, partition, batch }) => {
      const header = readBatchHeader(batch);
      return {
        topic,
        partition,
        producerId: header.producerId,
        epoch: header.producerEpoch,
        baseSequence: header.baseSequence,
        values: isDecoded ? decodeRecordBatch(batch, { codecs }).records.map(({ value }) => String(value)) : [],
        hex: Buffer.from(batch).toString('hex'),
      };
    });
    this.reply = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  get batch(): SentBatch {
    if (this.batches.length !== 1) throw new Error(`${this.batches.length} batches in the request`);
    return this.batches[0]!;
  }

  /** Answers every batch alike. */
  answer(result: Partial<PartitionResult> = {}): void {
    this.#resolve(
      this.batches.map(({ topic, partition }) => ({
        topic,
        partition,
        errorCode: 0,
        baseOffset: result.errorCode ? -1n : this.#nextOffset(`${topic}-${partition}`),
        logAppendTimeMs: -1,
        logStartOffset: 0n,
        ...result,
      })),
    );
  }

  answerWith(results: PartitionResult[]): void {
    this.#resolve(results);
  }

  refuse(name: keyof typeof protocolErrorCodes, more: Partial<PartitionResult> = {}): void {
    this.answer({ errorCode: protocolErrorCodes[name], ...more });
  }

  /** The connection ended before the answer. */
  lose(sent: 'no' | 'maybe' = 'maybe'): void {
    this.#reject(new TransportError('The connection was reset.', { sent }));
  }

  fail(error: unknown): void {
    this.#reject(error as Error);
  }
}

/** A transport in which nothing happens until the test answers. Metadata and producer ids answer by themselves. */
export class ScriptedTransport implements Transport {
  /** Leaders by topic and partition. */
  topics: Record<string, number[]>;
  leaderEpoch = 0;
  /** What all topics have for an id; `undefined` as from a cluster that gives none. */
  topicId: string | undefined;
  nextProducerId = 5_001n;
  readonly requests: SentRequest[] = [];
  metadataQuestions: string[][] = [];
  identityQuestions = 0;
  isClosed = false;
  /** Off where a test's codec writes what nobody can read. */
  inspectBatches = true;
  codecs: readonly CompressionCodec[] = [];
  /** Replaces the answers a test does not want to be automatic. */
  onConnect: (signal: AbortSignal | undefined) => Promise<void> = async () => {};
  onMetadata: ((topics: readonly string[]) => Promise<ClusterMetadata>) | null = null;
  onInitProducerId: (() => Promise<ProducerIdentity>) | null = null;
  /** Called for each request; a test that wants everything stored answers here. */
  onProduce: (request: SentRequest) => void = () => {};
  /** Where a batch that is answered without an offset lies: far apart, so that no test has two batches in one place. */
  readonly #offsets = new Map<string, bigint>();
  readonly #nextOffset = (place: string): bigint => {
    const offset = this.#offsets.get(place) ?? 0n;
    this.#offsets.set(place, offset + 1_000n);
    return offset;
  };

  constructor(topics: Record<string, number[]> = { payments: [1] }) {
    this.topics = topics;
  }

  /** The requests since the last call. */
  take(): SentRequest[] {
    return this.requests.splice(0);
  }

  /** The one request since the last call. */
  only(): SentRequest {
    const requests = this.take();
    if (requests.length !== 1) throw new Error(`${requests.length} requests were sent, not one`);
    return requests[0]!;
  }

  connect(signal?: AbortSignal): Promise<void> {
    return this.onConnect(signal);
  }

  async close(): Promise<void> {
    this.isClosed = true;
    for (const request of this.requests) request.lose();
  }

  async metadata(topics: readonly string[]): Promise<ClusterMetadata> {
    this.metadataQuestions.push([...topics]);
    return await (this.onMetadata?.(topics) ?? this.describe(topics));
  }

  describe(topics: readonly string[]): ClusterMetadata {
    return {
      brokers: [{ brokerId: 1, host: '127.0.0.1', port: 9_092 }],
      topics: topics.map((topic) => {
        const leaders = this.topics[topic];
        return {
          topic,
          ...(this.topicId === undefined ? {} : { topicId: this.topicId }),
          errorCode: leaders === undefined ? protocolErrorCodes.UNKNOWN_TOPIC_OR_PARTITION : 0,
          partitions: (leaders ?? []).map((leader, partition) => ({
            partition,
            errorCode: 0,
            leader,
            leaderEpoch: this.leaderEpoch,
          })),
        };
      }),
    };
  }

  async initProducerId(): Promise<ProducerIdentity> {
    this.identityQuestions++;
    return await (this.onInitProducerId?.() ?? { producerId: this.nextProducerId++, epoch: 0 });
  }

  produce(brokerId: number, request: ProduceRequest): Promise<PartitionResult[]> {
    const sent = new SentRequest(brokerId, request, this.inspectBatches, this.codecs, this.#nextOffset);
    this.requests.push(sent);
    this.onProduce(sent);
    return sent.reply;
  }
}
