/**
 * What the page is told: the whole state at one moment, as plain JSON and bounded in size. Producer ids are strings, since
 * JSON has no 64-bit numbers. The page's own modules take these types too, so nothing here may need Node.
 */
export interface Snapshot {
  /** `memory`: everything can be seen and broken. `kafka`: what a client can know from outside. */
  readonly cluster: 'memory' | 'kafka';
  readonly producers: readonly ProducerView[];
  readonly brokers: readonly BrokerView[];
  readonly partitions: readonly PartitionView[];
  readonly consumers: readonly ConsumerView[];
  readonly ledger: LedgerView;
  readonly audit: AuditView;
  /** Newest last. */
  readonly timeline: readonly TimelineEntry[];
  readonly controls: readonly ControlView[];
}

/** A run of records: sequence numbers or offsets. */
export interface Range {
  readonly first: number;
  readonly last: number;
}

export interface ProducerView {
  /** From 1: the how manieth producer of this run. The page colours its batches by it. */
  readonly session: number;
  readonly producerId: string;
  readonly state: 'running' | 'closed';
  readonly partitions: readonly ProducerPartitionView[];
}

export interface ProducerPartitionView {
  readonly partition: number;
  readonly epoch: number;
  readonly nextSequence: number;
  /** Numbered and not settled, oldest first; five at most (rule C5). */
  readonly window: readonly WindowBatchView[];
}

export interface WindowBatchView {
  readonly sequence: Range;
  readonly epoch: number;
  /** From 1; above 1 it was sent again. */
  readonly attempt: number;
  readonly state: 'in-flight' | 'waits-for-retry';
}

export interface BrokerView {
  readonly broker: string;
  readonly state: 'running' | 'frozen' | 'dead' | 'unknown';
}

export interface PartitionView {
  readonly partition: number;
  /** `null` while nobody leads, or nobody knows. */
  readonly leader: string | null;
  readonly leaderEpoch: number | null;
  readonly replicas: readonly ReplicaView[];
  /** Records in the log. */
  readonly records: number;
  readonly nextOffset: number | null;
  /** The newest batches, newest last. */
  readonly batches: readonly LogBatchView[];
  /** `null` where nobody outside the broker can see it. */
  readonly notebook: readonly NotebookView[] | null;
}

export interface ReplicaView {
  readonly broker: string;
  readonly inSync: boolean;
  readonly nextOffset: number | null;
}

export interface LogBatchView {
  readonly offsets: Range;
  /** `null`: the batch has no numbers, or nobody outside the broker knows them. */
  readonly numbers: BatchNumbersView | null;
}

export interface BatchNumbersView {
  readonly session: number;
  readonly producerId: string;
  readonly epoch: number;
  readonly sequence: Range;
}

/** What the partition's leader remembers of one producer. */
export interface NotebookView {
  readonly session: number;
  readonly producerId: string;
  readonly epoch: number;
  /** Five at most, oldest first. */
  readonly batches: readonly { readonly sequence: Range; readonly offsets: Range }[];
}

export interface ConsumerView {
  readonly name: string;
  readonly state: 'running' | 'crashed' | 'waiting';
  readonly partitions: readonly { readonly partition: number; readonly nextOffset: number; readonly behind: number }[];
  readonly processed: number;
  readonly duplicates: number;
  readonly conflicts: number;
  /** What became of the last records, newest last. */
  readonly recent: readonly {
    readonly partition: number;
    readonly offset: number;
    readonly payment: string | null;
    readonly status: 'processed' | 'duplicate' | 'conflict' | 'in-progress' | 'failed';
  }[];
}

export interface LedgerView {
  readonly payments: number;
  readonly entries: number;
  /** Of all entries: zero, always. Minor units. */
  readonly sumMinor: number;
  /** Minor units that payments moved. */
  readonly movedMinor: number;
  /** The accounts that moved most, most first. */
  readonly accounts: readonly { readonly account: string; readonly balanceMinor: number }[];
}

export interface AuditView {
  /** Payments whose sender was told that they are accepted. */
  readonly accepted: number;
  /** Payments whose sender was told that nobody knows, and not told otherwise since. */
  readonly unknown: number;
  /** Records in the log. */
  readonly stored: number;
  /** Records that came again and that a broker recognised by their numbers. `null`: only brokers know. */
  readonly caughtByBroker: number | null;
  /** Records that hold a payment once more, and that the payment's key gave away. */
  readonly caughtByKey: number;
  /** Records that were only read once more, after a consumer crashed. */
  readonly readAgain: number;
  readonly applied: number;
  readonly verdict: 'waiting' | 'settling' | 'balanced' | 'differs';
  readonly verdictText: string;
}

export type Tone = 'calm' | 'note' | 'trouble' | 'caught' | 'bad';

/** One story of the timeline. It grows while it goes on. */
export interface TimelineEntry {
  readonly id: number;
  readonly tone: Tone;
  /** What happened, step after step. */
  readonly parts: readonly string[];
}

export interface ControlView {
  readonly action: string;
  readonly label: string;
  /** One sentence: what to expect. */
  readonly expect: string;
  readonly group: 'send' | 'network' | 'brokers' | 'processes';
  /** `null`: it can be pressed now. Otherwise why not. */
  readonly blocked: string | null;
  /** For those that stay on: whether it is on. */
  readonly on: boolean | null;
}
