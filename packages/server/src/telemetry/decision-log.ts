import type { CallObserver, CallRecord, DecisionObserver, DecisionRecord } from '@gimbal/core';

/** The latest calls and decisions: about a quarter of a second of the fastest model, hours of a slow one. */
const LATEST = 4_096;
/** The latest that did not go well, kept apart so that successes don't wash them away. */
const NOTABLE = 2_048;
const MAX_EXAMPLES = 3;
const MAX_KINDS = 64;

/** Overwrites its oldest entry when it is full. */
class Ring<Entry> {
  readonly #entries: (Entry | undefined)[];
  #next = 0;

  constructor(size: number) {
    this.#entries = new Array<Entry | undefined>(size).fill(undefined);
  }

  add(entry: Entry): void {
    this.#entries[this.#next] = entry;
    this.#next = (this.#next + 1) % this.#entries.length;
  }

  /** Newest first. */
  *[Symbol.iterator](): Iterator<Entry> {
    const { length } = this.#entries;
    for (let back = 1; back <= length; back += 1) {
      const entry = this.#entries[(this.#next - back + length) % length];
      if (entry !== undefined) yield entry;
    }
  }
}

/** All that is known of one request. */
export interface RequestStory {
  readonly call: CallRecord | undefined;
  /** In the order in which they fell. */
  readonly decisions: readonly DecisionRecord[];
}

/** Refusals, failures and degradations of one kind. */
export interface NotableSummary {
  readonly model: string;
  readonly kind: DecisionRecord['kind'];
  readonly code: string | undefined;
  readonly degradedBecause: string | undefined;
  readonly count: number;
  readonly firstWallTimeMs: number;
  readonly lastWallTimeMs: number;
  /** Mean of what callers would have waited. */
  readonly meanBudgetMs: number;
  readonly examples: readonly string[];
}

/** What was decided lately, request by request: the source of `gimbal why`. Bounded; adding costs two stores. */
export class DecisionLog implements CallObserver, DecisionObserver {
  readonly #calls = new Ring<CallRecord>(LATEST);
  readonly #decisions = new Ring<DecisionRecord>(LATEST);
  readonly #notableCalls = new Ring<CallRecord>(NOTABLE);
  readonly #notable = new Ring<DecisionRecord>(NOTABLE);

  finished(record: CallRecord): void {
    this.#calls.add(record);
    if (record.outcome !== 'ok') this.#notableCalls.add(record);
  }

  decided(record: DecisionRecord): void {
    this.#decisions.add(record);
    if (isNotable(record)) this.#notable.add(record);
  }

  find(requestId: string): RequestStory | undefined {
    const calls = [this.#calls, this.#notableCalls];
    const call = calls.flatMap((ring) => [...ring].filter((one) => one.requestId === requestId))[0];
    const decisions = new Set<DecisionRecord>();
    for (const ring of [this.#notable, this.#decisions]) {
      for (const record of ring) if (record.requestId === requestId) decisions.add(record);
    }
    if (!call && decisions.size === 0) return undefined;
    return { call, decisions: [...decisions].sort((one, other) => one.wallTimeMs - other.wallTimeMs) };
  }

  /** What did not go well since then, most frequent first. */
  recent({
    sinceWallTimeMs = 0,
    model,
  }: {
    sinceWallTimeMs?: number;
    model?: string | undefined;
  }): NotableSummary[] {
    const kinds = new Map<string, DecisionRecord[]>();
    for (const record of this.#notable) {
      if (record.wallTimeMs < sinceWallTimeMs || (model !== undefined && record.model !== model)) continue;
      const key = `${record.model} ${record.kind} ${record.code} ${record.degradedBecause}`;
      const list = kinds.get(key);
      if (list) list.push(record);
      else if (kinds.size < MAX_KINDS) kinds.set(key, [record]);
    }
    return [...kinds.values()].map(summaryOf).sort((one, other) => other.count - one.count);
  }

  /** How far back single requests can be told of; undefined before the first. */
  reachesTo(): number | undefined {
    let oldest: number | undefined;
    for (const { wallTimeMs } of this.#decisions) oldest = wallTimeMs;
    return oldest;
  }
}

function isNotable({ kind, degradedBecause, lostRuns }: DecisionRecord): boolean {
  return kind === 'refused' || kind === 'failed' || degradedBecause !== undefined || lostRuns.length > 0;
}

/** Records come newest first. */
function summaryOf(records: readonly DecisionRecord[]): NotableSummary {
  const [newest] = records as readonly [DecisionRecord, ...DecisionRecord[]];
  const oldest = records.at(-1) ?? newest;
  return {
    model: newest.model,
    kind: newest.kind,
    code: newest.code,
    degradedBecause: newest.degradedBecause,
    count: records.length,
    firstWallTimeMs: oldest.wallTimeMs,
    lastWallTimeMs: newest.wallTimeMs,
    meanBudgetMs: records.reduce((sum, { budgetMs }) => sum + budgetMs, 0) / records.length,
    examples: records.slice(0, MAX_EXAMPLES).map(({ requestId }) => requestId),
  };
}
