import {
  type BatchPart,
  type BatchReport,
  type CostProfile,
  type EngineDriver,
  GimbalError,
  type Instant,
  NEVER,
  type RunnerLoss,
  type RunnerPlace,
  type WorkOutcome,
} from '@gimbal/core';
import {
  type Attempt,
  type EngineFactory,
  type EnginePort,
  type SimulatedWork,
  VERSION,
} from '../../packages/cli/src/simulation/engine-port.ts';
import type { SimulatedBatch } from '../../packages/cli/src/simulation/fleet.ts';

/** How a simple server queues. */
export interface NaivePolicy {
  /** Works that may wait; more are refused. */
  readonly maxWaiting: number;
  /**
   * Works whose deadline is nearer than so many batch times are dropped when their turn comes. 0: only those that are
   * late already; undefined: none, and late answers are sent all the same.
   */
  readonly dropMargin: number | undefined;
  /** Works that may be inside, waiting or running; undefined: any number. */
  limiter?(): ConcurrencyLimiter;
}

export interface LimiterSample {
  readonly latencyMs: number;
  readonly isDropped: boolean;
  readonly at: Instant;
}

/** Decides how many works may be inside. */
export interface ConcurrencyLimiter {
  readonly limit: number;
  /** A work that was let in has ended. */
  ended(sample: LimiterSample): void;
}

/** Works behind the head of the queue that are kept until they are worth moving the rest. */
const KEPT_BEHIND_HEAD = 10_000;

interface Running {
  readonly batch: SimulatedBatch;
  readonly works: readonly SimulatedWork[];
}

/** An engine as many have been built: one queue, first come first served, and batches of what waits. */
export function naiveEngine(policy: NaivePolicy): EngineFactory {
  return (driver) => new NaiveEngine(driver, policy);
}

class NaiveEngine implements EnginePort {
  readonly #driver: EngineDriver<Attempt>;
  readonly #policy: NaivePolicy;
  readonly #limiter: ConcurrencyLimiter | undefined;
  /** From the index of the next one on. */
  #queue: SimulatedWork[] = [];
  #head = 0;
  #waiting = 0;
  #inside = 0;
  readonly #runners = new Map<string, Running | undefined>();
  #profile: CostProfile = { fixedMs: 0, perRowMs: 0, bestRows: 1, points: [] };
  #lastBatch = 0;

  constructor(driver: EngineDriver<Attempt>, policy: NaivePolicy) {
    this.#driver = driver;
    this.#policy = policy;
    this.#limiter = policy.limiter?.();
  }

  submit(work: SimulatedWork, _now: Instant): void {
    const isFull = this.#waiting >= this.#policy.maxWaiting;
    if (isFull || (this.#limiter && this.#inside >= Math.floor(this.#limiter.limit))) {
      this.#driver.settle(work, failed('OVERLOADED', 'Cannot queue the work: the queue is full'));
      return;
    }
    this.#queue.push(work);
    this.#waiting += 1;
    this.#inside += 1;
  }

  submitProbe(work: SimulatedWork, _probe: unknown, now: Instant): void {
    this.submit(work, now);
  }

  /** What waits is passed over when its turn comes. */
  cancel(work: SimulatedWork, _now: Instant): void {
    if (work.status === 'settled') return;
    if (work.status === 'queued') {
      this.#waiting -= 1;
      this.#inside -= 1;
    }
    work.status = 'settled';
    this.#driver.settle(work, { kind: 'cancelled' });
  }

  runnerReady({ runnerId }: RunnerPlace, profile: CostProfile): void {
    this.#profile = profile;
    this.#runners.set(runnerId, undefined);
  }

  runnerRetiring({ runnerId }: RunnerPlace): void {
    if (this.#runners.get(runnerId) === undefined) this.#runners.delete(runnerId);
  }

  runnerLost({ runnerId }: RunnerPlace, { error }: RunnerLoss, now: Instant): void {
    const running = this.#runners.get(runnerId);
    this.#runners.delete(runnerId);
    for (const work of running?.works ?? []) this.#end(work, { kind: 'failed', error }, now);
  }

  faulted(): void {}

  batchReported({ runnerId }: RunnerPlace, _id: number, report: BatchReport, now: Instant): void {
    const running = this.#runners.get(runnerId);
    this.#runners.set(runnerId, undefined);
    for (const [index, work] of (running?.works ?? []).entries()) {
      const part = report.parts[index];
      if (!part || !running) continue;
      const timings = { queueMs: 0, batchMs: 0, preprocessMs: 0, inferMs: report.inferMs, postprocessMs: 0 };
      const reports = [{ firstRow: 0, report: part }];
      const { rows } = running.batch;
      const outcome: WorkOutcome = {
        kind: 'done',
        rung: 0,
        runner: runnerId,
        degradedBecause: undefined,
        batchRows: rows,
        reports,
        timings,
      };
      this.#end(work, outcome, now);
    }
  }

  poll(now: Instant): Instant {
    for (const [runnerId, running] of this.#runners) if (!running) this.#start(runnerId, now);
    return NEVER;
  }

  removeVersion(): void {}

  state(): undefined {
    return undefined;
  }

  wouldTake(): undefined {
    return undefined;
  }

  #start(runnerId: string, now: Instant): void {
    const parts: BatchPart<Attempt>[] = [];
    let rows = 0;
    while (rows < this.#profile.bestRows) {
      const work = this.#next(now);
      if (!work) break;
      parts.push({ work, firstRow: 0, rows: work.rows });
      rows += work.rows;
    }
    if (parts.length === 0) return;
    this.#lastBatch += 1;
    const batch: SimulatedBatch = {
      id: this.#lastBatch,
      version: VERSION,
      rung: 0,
      runner: runnerId,
      parts,
      rows,
      units: rows,
      costClass: 0,
      ticket: 0,
      startedAt: now,
      predictedMs: this.#batchMs(rows),
    };
    this.#runners.set(runnerId, { batch, works: parts.map(({ work }) => work) });
    this.#driver.dispatch(batch);
  }

  #next(now: Instant): SimulatedWork | undefined {
    for (let work = this.#queue[this.#head]; work; work = this.#queue[this.#head]) {
      this.#head += 1;
      if (this.#head > KEPT_BEHIND_HEAD) {
        this.#queue = this.#queue.slice(this.#head);
        this.#head = 0;
      }
      if (work.status !== 'queued') continue;
      this.#waiting -= 1;
      const { dropMargin } = this.#policy;
      const marginMs = (dropMargin ?? 0) * this.#batchMs(this.#profile.bestRows);
      if (dropMargin === undefined || now + marginMs < work.deadline) {
        work.status = 'running';
        return work;
      }
      this.#inside -= 1;
      this.#limiter?.ended({ latencyMs: now - work.enqueuedAt, isDropped: true, at: now });
      work.status = 'settled';
      this.#driver.settle(
        work,
        failed('DEADLINE_EXCEEDED', 'Cannot answer in time: too little time was left'),
      );
    }
    return undefined;
  }

  #end(work: SimulatedWork, outcome: WorkOutcome, now: Instant): void {
    this.#inside -= 1;
    this.#limiter?.ended({ latencyMs: now - work.enqueuedAt, isDropped: false, at: now });
    if (work.status === 'settled') return;
    work.status = 'settled';
    this.#driver.settle(work, outcome);
  }

  #batchMs(rows: number): number {
    return this.#profile.fixedMs + this.#profile.perRowMs * rows;
  }
}

function failed(code: 'OVERLOADED' | 'DEADLINE_EXCEEDED', message: string): WorkOutcome {
  return { kind: 'failed', error: new GimbalError(code, message) };
}
