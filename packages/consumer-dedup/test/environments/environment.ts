import type { ConformanceEnvironment, StoreTraits } from '../../src/testing/index.ts';

/** A store's environment before its service runs, so that tests can be listed without starting it. */
export interface EnvironmentDefinition extends StoreTraits {
  readonly name: string;
  start(): Promise<RunningEnvironment>;
}

export interface RunningEnvironment extends ConformanceEnvironment {
  close(): Promise<void>;
}
