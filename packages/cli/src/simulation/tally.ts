import type { Instant } from '@gimbal/core';

/** How a request ended for its client. */
export type RequestEnd = 'good' | 'refused' | 'late' | 'failed' | 'gone';

export interface Second {
  readonly second: number;
  offered: number;
  good: number;
  refused: number;
  late: number;
  failed: number;
  readonly marks: string[];
}

export interface GroupCount {
  asked: number;
  good: number;
  /** Rungs that answered. */
  readonly byRung: number[];
}

/** Of the window in which recovery is looked for. */
const WINDOW_MS = 250;
/** A window in which so much was answered is a good one… */
const GOOD_WINDOW_RATIO = 0.9;
/** …and so many may be missing in any. */
const GOOD_WINDOW_SLACK = 2;

/** What clients have seen. */
export class Tally {
  readonly seconds: Second[] = [];
  readonly groups = new Map<string, GroupCount>();
  readonly codes = new Map<string, number>();
  readonly latenciesMs: number[] = [];
  readonly #windows: { asked: number; good: number }[] = [];
  requests = 0;
  attempts = 0;
  good = 0;
  refused = 0;
  late = 0;
  failed = 0;
  gone = 0;
  measuredGood = 0;
  readonly #measured: { readonly fromMs: number; readonly untilMs: number };

  constructor(measured: { readonly fromMs: number; readonly untilMs: number }) {
    this.#measured = measured;
  }

  asked(group: string, at: Instant): void {
    this.requests += 1;
    this.#second(at).offered += 1;
    this.group(group).asked += 1;
    this.#window(at).asked += 1;
  }

  group(name: string): GroupCount {
    const known = this.groups.get(name) ?? { asked: 0, good: 0, byRung: [] };
    this.groups.set(name, known);
    return known;
  }

  ended(end: RequestEnd, request: { group: string; sentAt: Instant; at: Instant; rung?: number }): void {
    const { group, sentAt, at, rung } = request;
    this[end] += 1;
    if (end === 'gone') return;
    this.#second(at)[end] += 1;
    if (end !== 'good') return;
    const count = this.group(group);
    count.good += 1;
    if (rung !== undefined) count.byRung[rung] = (count.byRung[rung] ?? 0) + 1;
    this.latenciesMs.push(at - sentAt);
    this.#window(sentAt).good += 1;
    if (at >= this.#measured.fromMs && at < this.#measured.untilMs) this.measuredGood += 1;
  }

  code(code: string): void {
    this.codes.set(code, (this.codes.get(code) ?? 0) + 1);
  }

  mark(at: Instant, text: string): void {
    this.#second(at).marks.push(text);
  }

  /** Time from an instant to the end of the last bad window; 0 when none was bad. */
  recoveryMs(calmFromMs: number): number {
    const first = Math.ceil(calmFromMs / WINDOW_MS);
    let last: number | undefined;
    for (let index = first; index < this.#windows.length; index += 1) {
      const window = this.#windows[index];
      if (window && window.good < window.asked * GOOD_WINDOW_RATIO - GOOD_WINDOW_SLACK) last = index;
    }
    return last === undefined ? 0 : (last + 1) * WINDOW_MS - calmFromMs;
  }

  #window(at: Instant): { asked: number; good: number } {
    const index = Math.floor(at / WINDOW_MS);
    while (this.#windows.length <= index) this.#windows.push({ asked: 0, good: 0 });
    return this.#windows[index] ?? { asked: 0, good: 0 };
  }

  #second(at: Instant): Second {
    const index = Math.max(0, Math.floor(at / 1000));
    while (this.seconds.length <= index) {
      const second = this.seconds.length;
      this.seconds.push({ second, offered: 0, good: 0, refused: 0, late: 0, failed: 0, marks: [] });
    }
    return this.seconds[index] as Second;
  }
}
