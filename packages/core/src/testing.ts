export {
  rowsOf,
  SimulatedHost,
  type SimulatedPayload,
  type SimulatedWorkOptions,
} from './engine/testing/simulated-host.ts';
