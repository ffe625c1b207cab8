import type { SampleModels } from './sample-models.ts';
import type { Stage } from './stage.ts';

/** One thing that had to be so. */
export interface Check {
  readonly what: string;
  readonly isPassed: boolean;
  /** What was seen. */
  readonly got: string;
}

/** The server that a drill starts when none is given. */
export interface ServerNeeds {
  /** Two variants of the model. */
  readonly isLadder?: boolean;
  readonly maxRows?: number;
  /** Time in which the server answers on after SIGTERM. */
  readonly lameDuckMs?: number;
}

/** A scripted exercise with a pass criterion. */
export interface Drill {
  readonly name: string;
  /** What is broken. */
  readonly summary: string;
  /** When it passes; the same words as in docs/guide/drills.md. */
  readonly criterion: string;
  readonly ratePerSecond: number;
  /** From the fault to the end. */
  readonly durationMs: number;
  /** Deadline of each request. */
  readonly timeoutMs: number;
  readonly server: ServerNeeds;
  /** Why it can't be aimed at another server; undefined: it can. */
  readonly ownServerBecause?: string;
  /** Breaks things, waits until the time is over, and says what came of it. The load flows. */
  run(stage: Stage): Promise<readonly Check[]>;
}

/** The server's models, for drills that change them. */
export type DrillModels = SampleModels;

export function check(what: string, isPassed: boolean, got: string): Check {
  return { what, isPassed, got };
}
