import { AsyncLocalStorage } from 'node:async_hooks';

/** Runs work outside the async context of whoever calls. */
export type OutsideCallers = <T>(work: () => T) => T;

/**
 * Rule C17: the sender's timers, sockets and requests belong to no caller. Without this, a batch would be traced as the child
 * of whichever request happened to append its first record, and that request's context would live as long as a socket.
 * The context is the one in which this module was loaded: the program's start.
 */
export const outsideCallers: OutsideCallers = AsyncLocalStorage.snapshot();
