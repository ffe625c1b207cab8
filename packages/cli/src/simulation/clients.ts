import { errorRow, type GimbalError, type Instant, type Random, type WorkOutcome } from '@gimbal/core';
import { type SimulatedWork, workOf } from './engine-port.ts';
import { type ClientGroup, type CostClass, loadAt, type WorldPlan } from './plan.ts';
import { chance, exponential, randomStream, uniform } from './random-stream.ts';
import type { RequestEnd, Tally } from './tally.ts';
import type { VirtualClock } from './virtual-clock.ts';

/** Retries that a client may always make, before its budget has grown. */
const BUDGET_FLOOR = 10;
const MAX_RETRY_DELAY_MS = 2000;

/** What clients ask of the world. */
export interface Server {
  submit(work: SimulatedWork): void;
  cancel(work: SimulatedWork): void;
}

/** A request of a client: one attempt, or several. */
interface Request {
  readonly group: ClientGroup;
  readonly sentAt: Instant;
  readonly timeoutMs: number;
  readonly isPoison: boolean;
  readonly cost: CostClass;
  readonly rows: number;
  tries: number;
  work: SimulatedWork | undefined;
  ended: boolean;
}

/** Open-loop clients: they come by a Poisson process, whatever became of those before. */
export class Clients {
  readonly #plan: WorldPlan;
  readonly #clock: VirtualClock;
  readonly #server: Server;
  readonly #tally: Tally;
  readonly #seed: number;
  readonly #requests = new Map<number, Request>();
  /** Retries and first tries of each group, for its budget. */
  readonly #budgets = new Map<ClientGroup, { asked: number; retries: number }>();
  readonly #luck: Random;
  #lastIdentity = 0;

  constructor(plan: WorldPlan, world: { clock: VirtualClock; server: Server; tally: Tally; seed: number }) {
    this.#plan = plan;
    this.#clock = world.clock;
    this.#server = world.server;
    this.#tally = world.tally;
    this.#seed = world.seed;
    this.#luck = randomStream(world.seed, 'clients');
  }

  /** Requests whose clients still wait for something. */
  get waiting(): number {
    return this.#requests.size;
  }

  /** Groups with a budget, and how they kept it. */
  *budgets(): Iterable<{ name: string; retries: number; limit: number }> {
    for (const [{ name, retry }, { asked, retries }] of this.#budgets) {
      const ratio = retry?.budgetRatio;
      if (ratio !== undefined) yield { name, retries, limit: BUDGET_FLOOR + asked * ratio };
    }
  }

  start(): void {
    for (const group of this.#plan.groups) {
      this.#budgets.set(group, { asked: 0, retries: 0 });
      const arrivals = randomStream(this.#seed, `arrivals ${group.name}`);
      if (group.requestsPerSecond > 0) this.#next(group, arrivals);
      if (group.burst) this.#nextBurst(group, group.burst.everyMs * arrivals.next());
    }
  }

  /** A golden input for a breaker: nobody waits for it. */
  probe(timeoutMs: number): SimulatedWork {
    const [group] = this.#plan.groups;
    const bucket = group?.costs[0]?.bucket ?? 'plain';
    this.#lastIdentity += 1;
    return workOf({
      identity: this.#lastIdentity,
      tenant: '',
      lane: 'critical',
      quality: 'best-only',
      rows: 1,
      bucket,
      splittable: false,
      bytes: 0,
      sentAt: this.#clock.now,
      deadline: this.#clock.now + timeoutMs,
      deadlineTold: true,
      costClass: 0,
      costFactor: 1,
      isPoison: false,
    });
  }

  settled({ payload }: SimulatedWork, outcome: WorkOutcome): void {
    const request = this.#requests.get(payload.identity);
    if (!request) return;
    this.#requests.delete(payload.identity);
    request.work = undefined;
    if (outcome.kind === 'failed') this.#tally.code(outcome.error.code);
    if (request.ended) return;
    switch (outcome.kind) {
      case 'done': {
        const isGood = outcome.reports.every(({ report }) => report.ok);
        // The server was told, and answers all the same: nobody is there any more.
        const isLate = payload.deadlineTold && this.#clock.now > payload.deadline;
        this.#end(request, isLate ? 'late' : isGood ? 'good' : 'failed', outcome.rung);
        break;
      }
      case 'failed':
        this.#failed(request, outcome.error);
        break;
      case 'cancelled':
        break;
    }
  }

  /** By thinning: candidates come at the highest rate, and are taken in proportion to the rate at their time. */
  #next(group: ClientGroup, arrivals: Random): void {
    const highest = group.followsLoad ? Math.max(1, ...this.#plan.load.map(({ factor }) => factor)) : 1;
    const gapMs = (exponential(arrivals) * 1000) / (group.requestsPerSecond * highest);
    const at = this.#clock.now + gapMs;
    if (at >= this.#plan.durationMs) return;
    this.#clock.at(at, () => {
      const factor = group.followsLoad ? loadAt(this.#plan.load, this.#clock.now).factor : 1;
      if (arrivals.next() * highest < factor) this.#request(group);
      this.#next(group, arrivals);
    });
  }

  #nextBurst(group: ClientGroup, delayMs: number): void {
    const { burst } = group;
    if (!burst || this.#clock.now + delayMs >= this.#plan.durationMs) return;
    this.#clock.after(delayMs, () => {
      for (let count = 0; count < burst.requests; count += 1) this.#request(group);
      this.#nextBurst(group, burst.everyMs);
    });
  }

  #request(group: ClientGroup): void {
    const { now } = this.#clock;
    const luck = this.#luck;
    const timeoutMs = uniform(luck, group.timeoutMs);
    const request: Request = {
      group,
      sentAt: now,
      timeoutMs,
      isPoison: chance(luck, group.poisonRatio),
      cost: weighted(luck, group.costs),
      rows: Math.floor(uniform(luck, { low: group.rows.low, high: group.rows.high + 1 })),
      tries: 0,
      work: undefined,
      ended: false,
    };
    this.#tally.asked(group.name, now);
    const budget = this.#budgets.get(group);
    if (budget) budget.asked += 1;
    const leaves = chance(luck, group.disconnectRatio);
    if (leaves) this.#clock.after(timeoutMs * luck.next(), () => this.#leave(request, 'gone'));
    this.#try(request);
  }

  #try(request: Request): void {
    const { group, cost } = request;
    const { now } = this.#clock;
    const told = group.deadlineIn === 'header';
    this.#lastIdentity += 1;
    const work = workOf({
      identity: this.#lastIdentity,
      tenant: group.tenant,
      lane: group.lane,
      quality: group.quality,
      rows: request.rows,
      bucket: cost.bucket,
      splittable: group.splittable,
      bytes: Math.round(uniform(this.#luck, group.bytes)),
      sentAt: now,
      deadline: told ? request.sentAt + request.timeoutMs : now + this.#plan.modelDeadlineMs,
      deadlineTold: told,
      costClass: cost.costClass,
      costFactor: cost.factor,
      isPoison: request.isPoison,
    });
    request.tries += 1;
    request.work = work;
    this.#tally.attempts += 1;
    this.#requests.set(work.payload.identity, request);
    this.#server.submit(work);
    // A server that was told ends it itself.
    if (!told) this.#clock.after(request.timeoutMs, () => this.#timedOut(request, work));
  }

  /** A client that keeps its deadline itself goes by it for each try. */
  #timedOut(request: Request, work: SimulatedWork): void {
    if (request.ended || request.work !== work) return;
    const mayRetry = this.#mayRetry(request);
    if (!mayRetry) {
      this.#leave(request, 'late');
      return;
    }
    this.#server.cancel(work);
    this.#clock.after(this.#delayMs(request, undefined), () => {
      if (!request.ended) this.#try(request);
    });
  }

  #leave(request: Request, end: RequestEnd): void {
    if (request.ended) return;
    this.#end(request, end);
    if (request.work) this.#server.cancel(request.work);
  }

  #failed(request: Request, error: GimbalError): void {
    const { group } = request;
    const { retry } = group;
    const isRetryable = errorRow(error.code).retry !== 'never' && error.code !== 'DEADLINE_EXCEEDED';
    if (retry && isRetryable && this.#mayRetry(request)) {
      const delayMs = this.#delayMs(request, error.retryAfterMs);
      if (group.deadlineIn === 'client' || this.#clock.now + delayMs < request.sentAt + request.timeoutMs) {
        this.#clock.after(delayMs, () => {
          if (!request.ended) this.#try(request);
        });
        return;
      }
    }
    this.#end(request, endOf(error));
  }

  /** Takes one retry of the budget. */
  #mayRetry({ group, tries }: Request): boolean {
    const { retry } = group;
    const budget = this.#budgets.get(group);
    if (!retry || !budget || tries > retry.retries) return false;
    if (
      retry.budgetRatio !== undefined &&
      budget.retries + 1 > BUDGET_FLOOR + budget.asked * retry.budgetRatio
    )
      return false;
    budget.retries += 1;
    return true;
  }

  /** Full jitter, and not before the server said. */
  #delayMs({ group, tries }: Request, retryAfterMs: number | undefined): number {
    const { retry } = group;
    if (!retry) return 0;
    const limitMs = Math.min(MAX_RETRY_DELAY_MS, retry.firstDelayMs * 2 ** (tries - 1));
    return limitMs * this.#luck.next() + (retry.obeysRetryAfter ? (retryAfterMs ?? 0) : 0);
  }

  #end(request: Request, end: RequestEnd, rung?: number): void {
    request.ended = true;
    const { group, sentAt } = request;
    const at = this.#clock.now;
    this.#tally.ended(end, { group: group.name, sentAt, at, ...(rung === undefined ? {} : { rung }) });
  }
}

function endOf({ code }: GimbalError): RequestEnd {
  switch (code) {
    case 'OVERLOADED':
    case 'MODEL_LOADING':
    case 'MODEL_UNAVAILABLE':
      return 'refused';
    case 'DEADLINE_EXCEEDED':
      return 'late';
    default:
      return 'failed';
  }
}

function weighted(luck: Random, costs: readonly CostClass[]): CostClass {
  let left = luck.next() * costs.reduce((sum, { weight }) => sum + weight, 0);
  for (const cost of costs) {
    left -= cost.weight;
    if (left < 0) return cost;
  }
  return costs.at(-1) ?? { bucket: 'plain', costClass: 0, factor: 1, weight: 1 };
}
