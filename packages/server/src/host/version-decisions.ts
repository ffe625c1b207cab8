import type {
  CallContext,
  Clock,
  DecisionObserver,
  DecisionRecord,
  DecisionSituation,
  GimbalError,
  VersionSpec,
  WorkResult,
} from '@gimbal/core';
import type { PendingWork } from './call.ts';
import type { WorkEnd } from './dispatcher.ts';

/** Writes down what was decided about the works of one version: the source of `gimbal why`. */
export class VersionDecisions {
  readonly #observer: DecisionObserver;
  readonly #clock: Clock;
  readonly #situation: () => DecisionSituation;

  constructor(observer: DecisionObserver, clock: Clock, situation: () => DecisionSituation) {
    this.#observer = observer;
    this.#clock = clock;
    this.#situation = situation;
  }

  /** A call was refused before its body was read. */
  refused(spec: VersionSpec, context: CallContext, error: GimbalError): void {
    this.#observer.decided({
      ...this.#base(spec, context),
      kind: 'refused',
      code: error.code,
      detail: error.message,
      rows: 1,
      predictedWaitMs: undefined,
      waitedMs: undefined,
      totalMs: this.#clock.now() - context.receivedAt,
      ...NO_RUN,
      situation: this.#situation(),
    });
  }

  /** A work has come to its end; `end` is undefined where no engine saw it. */
  ended(
    spec: VersionSpec,
    pending: PendingWork,
    ended: { result: WorkResult; end: WorkEnd | undefined },
  ): void {
    const { result, end } = ended;
    const { context } = pending.call;
    const work = end?.work;
    const done = end?.outcome.kind === 'done' ? end.outcome : undefined;
    this.#observer.decided({
      ...this.#base(spec, context),
      kind: kindOf(result, end),
      code: result.ok ? undefined : result.error.code,
      detail: result.ok ? undefined : result.error.message,
      rows: pending.request.rows,
      predictedWaitMs: work?.admitted ? work.predictedWaitMs : undefined,
      waitedMs: work && work.startedAt > 0 ? work.startedAt - work.enqueuedAt : undefined,
      totalMs: this.#clock.now() - context.receivedAt,
      variant: result.ok ? result.variant : undefined,
      rung: result.ok ? result.rung : undefined,
      degradedBecause: result.ok ? result.degradedBecause : undefined,
      runner: done?.runner,
      batchRows: done?.batchRows,
      lostRuns: work?.ends ?? [],
      situation: result.ok ? undefined : this.#situation(),
    });
  }

  #base(spec: VersionSpec, context: CallContext): DecisionBase {
    const { requestId, criticality, tenant = '', timeoutMs } = context;
    return {
      requestId,
      wallTimeMs: this.#clock.wallTimeMs(),
      model: spec.model,
      version: spec.version,
      lane: criticality,
      tenant,
      budgetMs: timeoutMs ?? spec.deadlineMs,
      deadlineTold: timeoutMs !== undefined,
    };
  }
}

type DecisionBase = Pick<
  DecisionRecord,
  'requestId' | 'wallTimeMs' | 'model' | 'version' | 'lane' | 'tenant' | 'budgetMs' | 'deadlineTold'
>;

const NO_RUN = {
  variant: undefined,
  rung: undefined,
  degradedBecause: undefined,
  runner: undefined,
  batchRows: undefined,
  lostRuns: [],
} as const;

function kindOf(result: WorkResult, end: WorkEnd | undefined): DecisionRecord['kind'] {
  if (result.ok) return result.cached ? 'cached' : 'answered';
  if (result.error.code === 'CANCELLED') return 'cancelled';
  return end?.work.admitted ? 'failed' : 'refused';
}
