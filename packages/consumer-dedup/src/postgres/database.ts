export type Row = Readonly<Record<string, unknown>>;

/** Begins transactions on what the caller gave us. */
export interface Database<Client> {
  /** For events and messages. */
  readonly name: string;
  begin(options: BeginOptions): Promise<Begun<Client>>;
}

export interface BeginOptions {
  readonly isolationLevel: IsolationLevel;
  /** Statements to run at once with the BEGIN; no parameters. */
  readonly preamble: string;
  /** For a connection, and for the answer. */
  readonly timeoutMs: number;
  /** For the answer, where the preamble may have to wait for others. */
  readonly answerMs?: number;
  /** For another transaction of the same process to end, where there can be only one. */
  readonly waitMs: number;
}

export interface Begun<Client> {
  readonly open: OpenTransaction<Client>;
  /** Rows of the preamble's statements, in order. */
  readonly preamble: readonly (readonly Row[])[];
}

/** Ends by exactly one `commit` or `rollback`. */
export interface OpenTransaction<Client> {
  readonly client: Client;
  query(sql: string, parameters: readonly unknown[], timeoutMs: number): Promise<readonly Row[]>;
  /** `ended`: the database had ended the transaction before, because a statement in it failed, and rolled back instead. */
  commit(timeoutMs: number): Promise<'committed' | 'ended'>;
  /** Never rejects: a connection that can't roll back is closed, which rolls back too. */
  rollback(): Promise<void>;
}

export type IsolationLevel = 'read committed' | 'repeatable read' | 'serializable';
