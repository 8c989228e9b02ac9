import { DedupError, StoreSetupError } from '../errors.ts';

/** Nothing that waiting would change: not signed in, wrong password, not allowed. */
const SIGN_IN_OR_RIGHTS = /^(NOAUTH|WRONGPASS|NOPERM)\b/;
/** A server repeats the arguments of a command that it does not know: of one that signs in, too. */
const REPEATED_ARGUMENTS = /,? with args beginning with:.*$/s;

/**
 * What a client's error says, without what hangs on it: ioredis adds the command with its arguments, and that of a refused sign-in holds
 * the password. An error of a Cluster carries that of the node it asked last.
 */
export function withoutCommand(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof DedupError) return error;
  const node = 'lastNodeError' in error && error.lastNodeError instanceof Error ? [error.lastNodeError.message] : [];
  const message = [error.message, ...node].map((each) => each.replace(REPEATED_ARGUMENTS, '')).join(': ');
  if (SIGN_IN_OR_RIGHTS.test(node[0] ?? message)) {
    return new StoreSetupError(
      `Redis refuses this client: ${message.trim()}; check its user, its password and what that user may do`,
    );
  }
  return Object.assign(new Error(message), { name: error.name });
}
