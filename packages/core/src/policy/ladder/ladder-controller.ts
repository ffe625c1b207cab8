import { assert } from '../../base/assert.ts';
import { type Instant, NEVER } from '../../base/time.ts';
import { DEFAULT_LADDER_OPTIONS, type LadderOptions } from './options.ts';

/** What a step is decided from. */
export interface LadderSituation {
  /** Rows that were asked for and may run on any rung, a second. */
  readonly rowsPerSecond: number;
  /** Time that rows which insist on the best rung need there, in ms a second. */
  readonly pinnedMsPerSecond: number;
  /** Runs that go on at once. */
  readonly slots: number;
  /** Time of a row on each rung, in a batch as large as usual, in ms; undefined while unknown. */
  readonly rowMs: readonly (number | undefined)[];
  /** Predicted wait as a share of what callers would wait; over 1 for other pressure, such as a hot device. */
  readonly pressureRatio: number;
  /** Whether a rung can take work at all. */
  readonly available: readonly boolean[];
}

/** The rung with most of the traffic is another one. */
export interface LadderChange {
  readonly at: Instant;
  readonly from: number;
  readonly to: number;
  readonly because: 'overload' | 'pressure' | 'calm' | 'pinned' | 'released' | 'unavailable';
}

export interface LadderView {
  /** 0: all on the best rung; 1.25: three quarters on rung 1, one on rung 2. */
  readonly position: number;
  readonly shares: readonly number[];
  readonly pinned: { readonly rung: number; readonly until: Instant } | undefined;
  /** Newest last. */
  readonly history: readonly LadderChange[];
  /** Time in which each rung below the best had a share, in ms. */
  readonly degradedMs: readonly number[];
}

/**
 * Decides what: which share of new requests goes to which rung of a degradation ladder.
 *
 * Why this design: a wait says that too much came, not how much less would do, and says it late; controllers of waits
 * alone swing. What is needed is known: rows a second times the time of a row on each rung must fit the runners. So the
 * position follows the demand at once on the way down, and the wait only corrects what the costs don't tell (a slow
 * device, another program on the core). On the way up it waits until less was enough for a while, then moves slowly, so
 * that the better rung first gets a small share. Shares are exact over any stretch of requests: errors are carried on.
 *
 * Transitions: demand over the target → down, at once · wait over its limit → down, in proportion · both below for
 * `dwellMs` → up, slowly · a rung that can't take work gives its share to the next one, below first · a pin overrules all
 * until it ends.
 * Cold start: the best rung. Recovery: from the lowest of three rungs about 18 s after calm.
 * Not counted: requests that insist on the best rung, but for the time that they take there.
 */
export class LadderController {
  readonly #rungs: number;
  readonly #options: LadderOptions;
  readonly #history: LadderChange[] = [];
  readonly #degradedMs: number[];
  #position = 0;
  /** Part of the position that waits made, beyond what the demand needs. */
  #bias = 0;
  #lastStep: Instant = NEVER;
  /** Since when a better position would have been enough. */
  #calmSince: Instant = NEVER;
  #pinned: { readonly rung: number; readonly until: Instant } | undefined;
  #leading = 0;
  #available: readonly boolean[];
  #carried = 0;

  constructor(rungs: number, options: Partial<LadderOptions> = {}) {
    assert(rungs >= 1, 'a ladder has a rung');
    this.#rungs = rungs;
    this.#options = { ...DEFAULT_LADDER_OPTIONS, ...options };
    this.#degradedMs = Array.from({ length: rungs }, () => 0);
    this.#available = this.#degradedMs.map(() => true);
  }

  /** Where the ladder stands, without regard to rungs that can't take work. */
  get position(): number {
    return this.#pinned?.rung ?? this.#position;
  }

  get isPinned(): boolean {
    return this.#pinned !== undefined;
  }

  step(situation: LadderSituation, now: Instant): void {
    const elapsedMs = this.#lastStep === NEVER ? 0 : Math.max(0, now - this.#lastStep);
    this.#lastStep = now;
    for (const [rung, share] of this.#shares().entries()) {
      if (rung > 0 && share > 0) this.#degradedMs[rung] = (this.#degradedMs[rung] ?? 0) + elapsedMs;
    }
    this.#available = situation.available;
    if (this.#pinned && now >= this.#pinned.until) this.release(now);
    this.#steer(situation, { now, elapsedMs });
  }

  /** The rung for the next request that takes any. */
  pick(): number {
    const position = this.position;
    const upper = Math.min(Math.floor(position), this.#rungs - 1);
    this.#carried += position - upper;
    const lower = this.#carried >= 1 - 1e-9 && upper + 1 < this.#rungs;
    if (this.#carried >= 1 - 1e-9) this.#carried -= 1;
    return this.#takeable(lower ? upper + 1 : upper);
  }

  /** All requests that take any rung go to this one, until then or until released. */
  pin(rung: number, until: Instant, now: Instant): void {
    assert(rung >= 0 && rung < this.#rungs, 'a rung of this ladder is pinned');
    this.#pinned = { rung, until };
    this.#carried = 0;
    this.#follow('pinned', now);
  }

  release(now: Instant): void {
    if (!this.#pinned) return;
    // From where it was held: calm or overload find their way from there.
    this.#position = this.#pinned.rung;
    this.#pinned = undefined;
    this.#calmSince = NEVER;
    this.#follow('released', now);
  }

  view(): LadderView {
    return {
      position: this.position,
      shares: this.#shares(),
      pinned: this.#pinned,
      history: this.#history,
      degradedMs: this.#degradedMs,
    };
  }

  #steer(situation: LadderSituation, { now, elapsedMs }: { now: Instant; elapsedMs: number }): void {
    const { pressureRatio: limit, calmRatio, pressureStepsPerSecond } = this.#options;
    const seconds = elapsedMs / 1000;
    const last = this.#rungs - 1;
    const needed = this.#needed(situation);
    const excess = situation.pressureRatio / limit - 1;
    if (excess > 0) this.#bias += Math.min(excess, 2) * pressureStepsPerSecond * seconds;
    else if (situation.pressureRatio < calmRatio) this.#bias -= this.#options.upStepsPerSecond * seconds;
    this.#bias = Math.min(Math.max(this.#bias, 0), last - Math.min(needed, last));
    const wanted = Math.min(last, needed + this.#bias);
    if (wanted >= this.#position) {
      this.#calmSince = NEVER;
      const because = needed > this.#position ? 'overload' : 'pressure';
      this.#position = wanted;
      this.#follow(because, now);
      return;
    }
    this.#calmSince = Math.min(this.#calmSince, now);
    if (now - this.#calmSince < this.#options.dwellMs) return;
    this.#position = Math.max(wanted, this.#position - this.#options.upStepsPerSecond * seconds);
    this.#follow('calm', now);
  }

  /** The best position at which all rows fit. */
  #needed({ rowsPerSecond, pinnedMsPerSecond, slots, rowMs }: LadderSituation): number {
    const roomMs = Math.max(0, slots * 1000 * this.#options.targetRatio - pinnedMsPerSecond);
    if (rowsPerSecond <= 0) return 0;
    const fitMs = roomMs / rowsPerSecond;
    let better: number | undefined;
    for (let rung = 0; rung < this.#rungs; rung += 1) {
      const ms = rowMs[rung];
      if (ms === undefined) continue;
      if (ms <= fitMs) {
        if (better === undefined || rung === 0) return rung === 0 ? 0 : rung;
        const betterMs = rowMs[better] ?? ms;
        return better + ((betterMs - fitMs) / (betterMs - ms)) * (rung - better);
      }
      better = rung;
    }
    return better ?? 0;
  }

  #shares(): number[] {
    const shares = Array.from({ length: this.#rungs }, () => 0);
    const position = this.position;
    const upper = Math.min(Math.floor(position), this.#rungs - 1);
    const lowerShare = position - upper;
    const add = (rung: number, share: number): void => {
      const takes = this.#takeable(rung);
      shares[takes] = (shares[takes] ?? 0) + share;
    };
    add(upper, 1 - lowerShare);
    if (lowerShare > 0) add(upper + 1, lowerShare);
    return shares;
  }

  /** The rung itself, else the next that can take work: below first, since it is cheaper. */
  #takeable(rung: number): number {
    for (let below = rung; below < this.#rungs; below += 1) if (this.#available[below]) return below;
    for (let above = rung - 1; above >= 0; above -= 1) if (this.#available[above]) return above;
    return rung;
  }

  /** Notes when another rung leads clearly. */
  #follow(because: LadderChange['because'], at: Instant): void {
    const shares = this.#shares();
    let leading = this.#leading;
    for (let rung = 0; rung < this.#rungs; rung += 1) {
      if ((shares[rung] ?? 0) > (shares[leading] ?? 0)) leading = rung;
    }
    const lead = (shares[leading] ?? 0) - (shares[this.#leading] ?? 0);
    if (leading === this.#leading || lead < this.#options.leadRatio) return;
    const isForced = this.#available[Math.round(this.position)] === false;
    const change = {
      at,
      from: this.#leading,
      to: leading,
      because: isForced ? 'unavailable' : because,
    } as const;
    this.#history.push(change);
    if (this.#history.length > this.#options.maxHistory) this.#history.shift();
    this.#leading = leading;
  }
}
