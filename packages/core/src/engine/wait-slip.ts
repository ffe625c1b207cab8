import type { Criticality } from '../contract/inference-port.ts';

/** Weight of the newest wait. */
const LEARNING_RATIO = 0.02;
/** Waits below this are too short to say anything. */
const LEAST_WAIT_MS = 5;
/** A stall is not a new slip. */
const MAX_SLIP = 4;
/** Lanes times cost classes, as far as they are worth telling apart. */
const MAX_KINDS = 64;

/**
 * How much longer works wait than what was queued before them says: works that come later may be served earlier (more
 * critical ones, those of a class or a tenant that has had less), and admission can't see them. Learned for each lane
 * and cost class, since it is the dear ones of the lower lanes that are overtaken.
 */
export class WaitSlip {
  readonly #slips = new Map<string, number>();

  of(kind: { readonly lane: Criticality; readonly costClass: number }): number {
    return this.#slips.size === 0 ? 1 : (this.#slips.get(keyOf(kind)) ?? 1);
  }

  observed(
    work: { readonly lane: Criticality; readonly costClass: number; readonly predictedWaitMs: number },
    waitedMs: number,
  ): void {
    if (work.predictedWaitMs < LEAST_WAIT_MS) return;
    const key = keyOf(work);
    const slip = this.#slips.get(key);
    if (slip === undefined && this.#slips.size >= MAX_KINDS) return;
    const ratio = Math.min(Math.max(waitedMs / work.predictedWaitMs, 1), MAX_SLIP);
    this.#slips.set(key, (slip ?? 1) + LEARNING_RATIO * (ratio - (slip ?? 1)));
  }
}

function keyOf({ lane, costClass }: { readonly lane: Criticality; readonly costClass: number }): string {
  return `${lane} ${costClass}`;
}
