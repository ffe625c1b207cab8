import type { Instant } from '../base/time.ts';
import type { BatchReport, PartReport } from '../contract/runner-port.ts';
import type { DegradationReason, StageTimings } from '../contract/work.ts';
import { GimbalError } from '../errors/gimbal-error.ts';
import { type BreakerWeight, errorRow } from '../errors/registry.ts';
import type { Batch } from './batch.ts';
import type { RowsReported, Work } from './work.ts';

/** How a work ended. */
export type WorkOutcome =
  | {
      readonly kind: 'done';
      readonly rung: number;
      /** The one that had its last rows. */
      readonly runner: string;
      readonly degradedBecause: DegradationReason | undefined;
      /** Rows of the batch that its last rows were in. */
      readonly batchRows: number;
      /** In row order. */
      readonly reports: readonly RowsReported[];
      readonly timings: StageTimings;
    }
  | { readonly kind: 'failed'; readonly error: GimbalError }
  | { readonly kind: 'cancelled' };

/** A runner that says less than it was asked is at fault itself, not the work. */
export const MISSING_PART: PartReport = {
  ok: false,
  code: 'INTERNAL',
  message: 'Cannot answer: the runner reported fewer results than it was given inputs',
  fields: [],
};

type Failure = Extract<PartReport, { ok: false }>;

export function isGood(outcome: WorkOutcome): boolean {
  return outcome.kind === 'done' && outcome.reports.every(({ report }) => report.ok);
}

/** How a batch counts for its breaker: by its worst failure when nothing of it was answered. */
export function failureOfAll({ parts }: BatchReport): BreakerWeight | undefined {
  let worst: BreakerWeight | undefined = 'none';
  for (const part of parts) {
    if (part.ok) return undefined;
    const { breaker } = errorRow(part.code);
    if (breaker === 'hard' || worst === 'none') worst = breaker;
  }
  return worst;
}

export function isOutOfMemory(report: PartReport): report is Failure & { readonly code: 'OUT_OF_MEMORY' } {
  return !report.ok && report.code === 'OUT_OF_MEMORY';
}

export function failureOf(report: Extract<PartReport, { ok: false }>): GimbalError {
  return new GimbalError(report.code, report.message, { fields: report.fields });
}

export function done<Payload>(
  work: Work<Payload>,
  end: { batch: Batch<Payload>; report: BatchReport; now: Instant },
): WorkOutcome {
  const { batch, report, now } = end;
  const { preprocessMs, inferMs, postprocessMs } = report;
  if (work.reported.length > 1) work.reported.sort((left, right) => left.firstRow - right.firstRow);
  const stagesMs = preprocessMs + inferMs + postprocessMs;
  return {
    kind: 'done',
    rung: batch.rung,
    runner: batch.runner,
    degradedBecause: work.degradedBecause,
    batchRows: batch.rows,
    reports: work.reported,
    timings: {
      queueMs: work.startedAt - work.enqueuedAt,
      batchMs: Math.max(0, now - batch.startedAt - stagesMs),
      preprocessMs,
      inferMs,
      postprocessMs,
    },
  };
}
