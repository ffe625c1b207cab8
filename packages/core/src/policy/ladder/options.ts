/** How a degradation ladder is climbed down and up. */
export interface LadderOptions {
  /** Share of the time of all runners that the rungs chosen may need. Default: 0.92: above it, waits explode. */
  readonly targetRatio: number;
  /** Share of a caller's patience that waiting may use before more is moved down, whatever the costs say. Default: 0.7. */
  readonly pressureRatio: number;
  /** Below it, what the pressure moved down comes back. Default: 0.4. */
  readonly calmRatio: number;
  /** Rungs a second that pressure alone moves, at twice its limit. Default: 1. */
  readonly pressureStepsPerSecond: number;
  /** Nothing moves up before less has been enough for so long, in ms. Default: 4000: a gap in the traffic is no calm. */
  readonly dwellMs: number;
  /** Rungs a second that shares move up, so that a small share goes first. Default: 0.15. */
  readonly upStepsPerSecond: number;
  /** The rung with most of the traffic changes only when another leads by this share. Default: 0.2. */
  readonly leadRatio: number;
  /** Changes that are remembered. Default: 128. */
  readonly maxHistory: number;
}

export const DEFAULT_LADDER_OPTIONS: LadderOptions = {
  targetRatio: 0.92,
  pressureRatio: 0.7,
  calmRatio: 0.4,
  pressureStepsPerSecond: 1,
  dwellMs: 4_000,
  upStepsPerSecond: 0.15,
  leadRatio: 0.2,
  maxHistory: 128,
};
