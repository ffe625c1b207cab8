import type { Instant } from '../base/time.ts';
import { DemandCurve, SLOT_MS } from './demand-curve.ts';
import { Heap, type HeapOrder, OUTSIDE } from './heap.ts';
import type { Work } from './work.ts';
import { isMoreUrgent, WorkList } from './work-list.ts';

/** What works of one flow have in common besides their tenant. */
export interface FlowKind {
  readonly costClass: number;
  /** Whether their callers said how long they wait. */
  readonly deadlineTold: boolean;
}

/**
 * The waiting works of one tenant and one kind in a lane: served in order of urgency, or newest first where nobody said
 * how long callers wait and the queue stands. Among flows time is shared, so that neither a greedy tenant nor one kind
 * of dear request takes it all.
 */
export class Flow<Payload> {
  /** Who shares in its lane. */
  readonly tenant: string;
  readonly kind: FlowKind;
  readonly #lists = new Map<string, WorkList<Payload>>();
  readonly #byUrgency: Heap<WorkList<Payload>> = new Heap<WorkList<Payload>>(MOST_URGENT_FIRST);
  #units = 0;
  #works = 0;
  /** Made when works come out of the order of their urgencies. */
  #curve: DemandCurve<Payload> | undefined = undefined;
  #latestUrgency: Instant = -Infinity;
  /** Fair share: units that it was served, on the virtual clock of its tenant. */
  tag = 0;
  seat = OUTSIDE;

  constructor(tenant: string, { costClass, deadlineTold }: FlowKind) {
    this.tenant = tenant;
    this.kind = { costClass, deadlineTold };
  }

  /** Cost of what waits. */
  get units(): number {
    return this.#units;
  }

  get works(): number {
    return this.#works;
  }

  /** The list of the bucket, which now has the work. */
  push(work: Work<Payload>): WorkList<Payload> {
    if (this.#comesBefore(work.urgency)) this.#makeCurve(work.enqueuedAt);
    this.#latestUrgency = Math.max(this.#latestUrgency, work.urgency);
    let list = this.#lists.get(work.bucket);
    if (list) {
      list.append(work);
      this.#byUrgency.moved(list);
    } else {
      list = new WorkList(work.bucket);
      this.#lists.set(work.bucket, list);
      list.append(work);
      this.#byUrgency.add(list);
    }
    this.#works += 1;
    this.#units += work.units;
    this.#curve?.add(work, work.enqueuedAt);
    return list;
  }

  /** The next work, of one bucket or of any. */
  next(newestFirst: boolean, bucket?: string): Work<Payload> | undefined {
    if (bucket !== undefined) {
      const list = this.#lists.get(bucket);
      return newestFirst ? list?.newest : list?.first;
    }
    if (!newestFirst) return this.#byUrgency.first?.first;
    let newest: Work<Payload> | undefined;
    for (const list of this.#lists.values()) {
      if (list.newest && (!newest || list.newest.turn > newest.turn)) newest = list.newest;
    }
    return newest;
  }

  /** By when they came. */
  oldest(): Work<Payload> | undefined {
    let oldest: Work<Payload> | undefined;
    for (const { oldest: work } of this.#lists.values()) {
      if (work && (!oldest || work.enqueuedAt < oldest.enqueuedAt)) oldest = work;
    }
    return oldest;
  }

  /** So many units of a work went to a runner, or left. Gives the list when it is empty now. */
  left(work: Work<Payload>, left: { units: number; wholly: boolean }): WorkList<Payload> | undefined {
    this.#units -= left.units;
    this.#curve?.remove(work, left.units);
    const { list } = work;
    if (!left.wholly || !list) return undefined;
    list.remove(work);
    this.#works -= 1;
    if (this.#works === 0) this.#becameEmpty();
    if (list.first) {
      this.#byUrgency.moved(list);
      return undefined;
    }
    this.#byUrgency.remove(list);
    this.#lists.delete(list.bucket);
    return list;
  }

  /** Units that are served before a new work of this urgency. */
  unitsBefore(urgency: Instant, now: Instant): number {
    if (this.#comesBefore(urgency)) this.#makeCurve(now);
    return this.#curve ? Math.min(this.#units, this.#curve.upTo(urgency)) : this.#units;
  }

  /** See `DemandCurve#laterFits`. */
  laterFits(urgency: Instant, fits: (units: number, by: Instant) => boolean): boolean {
    return this.#curve?.laterFits(urgency, fits) ?? true;
  }

  #comesBefore(urgency: Instant): boolean {
    return !this.#curve && this.#works > 0 && urgency < this.#latestUrgency - SLOT_MS;
  }

  #makeCurve(now: Instant): void {
    const curve = new DemandCurve<Payload>(now);
    for (const list of this.#lists.values()) for (const work of list) curve.add(work, now);
    this.#curve = curve;
  }

  /** Sums of floating numbers drift; nothing waits now. */
  #becameEmpty(): void {
    this.#units = 0;
    this.#curve = undefined;
    this.#latestUrgency = -Infinity;
  }
}

const MOST_URGENT_FIRST: HeapOrder<WorkList<unknown>> = {
  before: (one, other) => {
    if (!one.first || !other.first) return other.first === undefined;
    return isMoreUrgent(one.first, other.first);
  },
  seatOf: (list) => list.seat,
  seat: (list, index) => {
    list.seat = index;
  },
};
