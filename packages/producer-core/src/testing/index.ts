/** For tests: a runtime on virtual time, and the suite that every transport must pass. */

export {
  createSimulatedRuntime,
  type RunOptions,
  SimulatedRuntime,
  type SimulatedRuntimeOptions,
  SimulationError,
} from './simulated-runtime.ts';
