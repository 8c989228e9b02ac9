import { DedupConfigError } from '../errors.ts';
import { EPOCH_LOCKS, EPOCH_PHASES, GENERATION_TABLES } from './generations.ts';

/** Quoted and schema-qualified names of all that the store keeps in the database. */
export interface TableNames {
  /** One for each generation. */
  readonly keys: readonly string[];
  /** For people to look at: every remembered key. */
  readonly view: string;
  readonly state: string;
  /** Empty; their locks say which epochs have transactions. */
  readonly epochs: readonly string[];
  readonly offsets: string;
  /** The functions that claim, one for each phase of the epochs. */
  readonly claims: readonly string[];
  /** The name as configured. */
  readonly configured: string;
}

export const DEFAULT_TABLE = 'sendonce_dedup';

const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** PostgreSQL cuts names after 63 bytes, silently: the longest name we derive must not reach that. */
const MAX_TABLE_LENGTH = 63 - '_offsets_pkey'.length;

/** Throws {@link DedupConfigError} for anything but `table` or `schema.table` in letters, digits and underscores. */
export function tableNames(configured: string = DEFAULT_TABLE): TableNames {
  const parts = typeof configured === 'string' ? configured.split('.') : [];
  const table = parts.at(-1) ?? '';
  const usable =
    (parts.length === 1 || parts.length === 2) &&
    parts.every((part) => IDENTIFIER.test(part) && part.length <= 63) &&
    table.length <= MAX_TABLE_LENGTH;
  if (!usable) {
    throw new DedupConfigError(
      `table: ${JSON.stringify(configured)} can't be used; write 'name' or 'schema.name', letters, digits and underscores, at most ${MAX_TABLE_LENGTH} for the name`,
      ['table'],
    );
  }
  const prefix = parts.length === 2 ? `"${parts[0]}".` : '';
  const name = (suffix: string): string => `${prefix}"${table}${suffix}"`;
  return {
    keys: Array.from({ length: GENERATION_TABLES }, (_, index) => name(`_keys_${index}`)),
    view: name('_keys'),
    state: name('_state'),
    epochs: Array.from({ length: EPOCH_LOCKS }, (_, index) => name(`_epoch_${index}`)),
    offsets: name('_offsets'),
    claims: Array.from({ length: EPOCH_PHASES }, (_, phase) => name(`_claim_${phase}`)),
    configured,
  };
}
