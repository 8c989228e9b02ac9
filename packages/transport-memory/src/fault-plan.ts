/** What of a request a fault strikes: a partition of a produce request, or a topic of a metadata request. */
export interface Struck {
  readonly topic: string;
  /** Null: the topic. */
  readonly partition: number | null;
}

/** An error that is answered instead of the truth: before the batch is looked at, or after it was stored. */
export interface InjectedAnswer {
  /** Null: for the request as a whole. */
  readonly where: Struck | null;
  readonly errorCode: number;
  readonly when: 'before' | 'after';
  /** What the answer says the partition begins at. */
  readonly logStartOffset: bigint;
}

/** Where replies wait that are held back. */
export interface ReplyHolder {
  /** Takes a reply; `go` lets it go on. */
  hold(go: () => void): void;
}

/** What goes wrong with one request; decided when it leaves. */
export interface FaultPlan {
  loseRequest: boolean;
  requestDelayMs: number;
  duplicateAfterMs: number | null;
  reset: 'before' | 'after' | null;
  loseReply: boolean;
  replyDelayMs: number;
  holder: ReplyHolder | null;
  kill: 'before' | 'after' | null;
  readonly answers: InjectedAnswer[];
}

export function emptyPlan(): FaultPlan {
  return {
    loseRequest: false,
    requestDelayMs: 0,
    duplicateAfterMs: null,
    reset: null,
    loseReply: false,
    replyDelayMs: 0,
    holder: null,
    kill: null,
    answers: [],
  };
}
