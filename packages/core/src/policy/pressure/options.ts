/** When the host takes less work for want of memory. Each level is left at a lower ratio than it is entered at. */
export interface PressureOptions {
  /** Share of the limit in use at which memory is tight. Default: 0.85: time to act before the kernel does. */
  readonly tightRatio: number;
  /** Default: 0.78. */
  readonly calmRatio: number;
  /** Share at which it is critical. Default: 0.94: the next large input may be the last. */
  readonly criticalRatio: number;
  /** Share below which it is no longer critical, but tight. Default: 0.88. */
  readonly relievedRatio: number;
  /** Share of the time lost to waiting for memory at which it is tight. Default: 0.1. */
  readonly tightStallRatio: number;
  /** At which it is critical. Default: 0.4: most of the machine's time goes into moving pages. */
  readonly criticalStallRatio: number;
  /** A stall must fall to this share of what raised a level before that level is left. Default: 0.5. */
  readonly stallReliefRatio: number;
  /** A level is left only after so long, in ms, in which nothing spoke for it. Default: 5000. */
  readonly dwellMs: number;
}

export const DEFAULT_PRESSURE_OPTIONS: PressureOptions = {
  tightRatio: 0.85,
  calmRatio: 0.78,
  criticalRatio: 0.94,
  relievedRatio: 0.88,
  tightStallRatio: 0.1,
  criticalStallRatio: 0.4,
  stallReliefRatio: 0.5,
  dwellMs: 5000,
};
