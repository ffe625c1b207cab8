import type { RunnerFault, RunnerFaultKind } from '@gimbal/core';

/** What can be broken on purpose: something in runners, or something of the host itself. */
export type Fault =
  | RunnerFault
  /** What the host writes to disk, its log, is refused as if the disk were full. */
  | { readonly kind: 'disk-full' };

export type FaultKind = Fault['kind'];

/** Every kind, for messages and checks. */
export const FAULT_KINDS: readonly FaultKind[] = [
  'kill',
  'freeze',
  'crash',
  'hang',
  'slow',
  'fail',
  'out-of-memory',
  'device-loss',
  'leak',
  'non-finite',
  'disk-full',
];

/** Which runners a fault is for; what is not said fits all. */
export interface FaultTarget {
  readonly model?: string;
  readonly version?: string;
  readonly variant?: string;
  /** A runner's id, or its process id. */
  readonly runner?: string;
}

export interface FaultRequest {
  readonly fault: Fault;
  readonly target: FaultTarget;
  /** The fault ends by itself after this long. */
  readonly durationMs: number;
  /** Batches that each runner lets it touch at most. */
  readonly batches: number;
  /** Processes that it reaches at most, in the order in which they serve. */
  readonly runners: number;
}

export function isRunnerFault(fault: Fault): fault is RunnerFault {
  return fault.kind !== ('disk-full' satisfies Exclude<FaultKind, RunnerFaultKind>);
}
