import type { Instant } from '../base/time.ts';
import type { Criticality } from '../contract/inference-port.ts';
import type { GimbalError } from '../errors/gimbal-error.ts';
import type { Pool } from './pool.ts';
import { expired, standing, tooLate, tooManyBytes } from './refusal.ts';
import type { VersionLadder } from './version-ladder.ts';
import type { QualityDemand } from './work.ts';

/** What admission must know of a work. */
export interface Admission {
  readonly rows: number;
  readonly lane: Criticality;
  readonly tenant: string;
  readonly costClass: number;
  readonly bytes: number;
  readonly deadline: Instant;
  readonly urgency: Instant;
  readonly deadlineTold: boolean;
  readonly quality: QualityDemand;
}

export interface Target<Payload> {
  readonly ladder: VersionLadder<Payload>;
  readonly pool: Pool<Payload>;
  /** What was admitted before the work and comes before it; 0 for a work that is here. */
  readonly arrivingUnits: number;
}

/** Taken, with the wait that was foreseen, or refused. */
export type AdmissionDecision =
  | { readonly kind: 'taken'; readonly waitMs: number }
  | { readonly kind: 'refused'; readonly error: GimbalError };

const HOPELESS = 'one run takes longer than the deadline leaves';

/**
 * Decides whether a pool takes a work: when its answer is foreseen before its deadline, without making late what was
 * promised to others of its flow.
 *
 * Why this design: a queue that is bounded by a count answers everything late once it is full, since a count says nothing
 * of time. `now + what is served before it + its own runs`, each with the error that such predictions had lately, refuses
 * what can't be in time at once, and nothing else: no limit has to be found by trial. Where callers did not say how long
 * they wait, a deadline of ours says nothing either: there the queue may not stand.
 * Cold start: the self-profile. A work beside an idle runner is taken unless it is hopeless, so that a wrong profile can
 * learn. Not counted: works that come later and are served earlier, but for the slip that waits have had lately.
 */
export function admission<Payload>(target: Target<Payload>, ask: Admission, now: Instant): AdmissionDecision {
  const { ladder, pool, arrivingUnits } = target;
  const { openBytes, maxQueuedBytes } = ladder;
  if (openBytes > 0 && openBytes + ask.bytes > maxQueuedBytes) {
    const waitMs = pool.predictedWaitMs(ask.lane, now);
    return refused(tooManyBytes({ held: openBytes, limit: maxQueuedBytes }, waitMs));
  }
  if (arrivingUnits === 0 && ladder.isIdle(pool)) {
    return pool.takesBesideIdle(ask, now) ? { kind: 'taken', waitMs: 0 } : refused(expired(HOPELESS));
  }
  if (!ask.deadlineTold && pool.standing.stands(ask.lane, now)) {
    const waitMs =
      ladder.waitMs(pool, pool.queue.unitsUpTo(ask.lane), { lane: ask.lane, now }) + arrivingMs(target);
    const lateMs = waitMs - pool.standing.targetMs;
    if (lateMs > 0) return refused(standing({ waitMs, targetMs: pool.standing.targetMs }));
  }
  return foreseen(target, ask, now);
}

function foreseen<Payload>(target: Target<Payload>, ask: Admission, now: Instant): AdmissionDecision {
  const { ladder, pool } = target;
  const units = ask.rows * pool.cost.unitsPerRow(ask.costClass);
  const runners = Math.max(1, ladder.slotsOf(pool));
  const ownRuns = Math.max(1, Math.ceil(ask.rows / pool.maxRows));
  const margin = 1 + pool.cost.deviationRatio;
  const ownMs = pool.ownMs(ask) / Math.min(runners, ownRuns);
  const queuedMs = ladder.waitMs(pool, pool.queue.unitsBefore(ask, { units, now }), { lane: ask.lane, now });
  const waitMs = queuedMs + arrivingMs(target) + pool.hostLagMs;
  const finish = now + (waitMs * ladder.slip.of(ask) + ownMs) * margin;
  if (finish > ask.deadline) return refused(tooLate(finish - ask.deadline));
  const fits = pool.queue.laterFits(ask, units, (before, by) => {
    const laterMs = ladder.waitMs(pool, before, { lane: ask.lane, now }) + ownMs;
    return now + laterMs * margin <= by;
  });
  if (!fits) return refused(tooLate(ownMs));
  return { kind: 'taken', waitMs };
}

/** Time of what was admitted and has not come yet. */
function arrivingMs<Payload>({ ladder, pool, arrivingUnits }: Target<Payload>): number {
  if (arrivingUnits === 0) return 0;
  const { fixedMs, perRowMs } = pool.cost;
  return (arrivingUnits * (perRowMs + fixedMs / pool.maxRows)) / Math.max(1, ladder.slotsOf(pool));
}

function refused(error: GimbalError): AdmissionDecision {
  return { kind: 'refused', error };
}
