/** For tests: a runtime on virtual time, and the suite that every transport must pass. */

export type {
  ConformanceApi,
  ConformanceCapability,
  ConformanceCase,
  ConformanceEnvironment,
  ConformanceFaults,
  ConformanceTopicOptions,
  ForgedAnswer,
  HeldReplies,
  RequestMatch,
  StoredRecord,
} from './conformance/environment.ts';
export { conformanceCases, type SelectedConformanceCases, selectConformanceCases } from './conformance/index.ts';
export {
  createSimulatedRuntime,
  type RunOptions,
  SimulatedRuntime,
  type SimulatedRuntimeOptions,
  SimulationError,
} from './simulated-runtime.ts';
