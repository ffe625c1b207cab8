import { assert } from '../base/assert.ts';
import type { Instant } from '../base/time.ts';
import { Flow, type FlowKind } from './flow.ts';
import { Heap, type HeapOrder, OUTSIDE } from './heap.ts';
import type { Work } from './work.ts';
import type { WorkList } from './work-list.ts';

/** Tenants whose shares are remembered; those beyond share one. */
const MAX_TENANTS = 1000;
/** Where tenants beyond the bound are counted together; no header value contains a line break. */
const OTHER_TENANTS = '\n';

/** Something that takes part in the sharing of time. */
interface Sharer {
  /** Units that it was served, on the virtual clock of what it is part of. */
  tag: number;
  seat: number;
}

/**
 * Start-time fair queueing: whoever has been served least, by cost, is next; one that comes back from idleness starts
 * where the others are. Same shares as deficit round robin, with a batch as the quantum, and no rounds to keep.
 */
class FairShare<Member extends Sharer> {
  readonly waiting: Heap<Member> = new Heap<Member>(LEAST_SERVED);
  #virtualTime = 0;

  /** It has works again. */
  joined(member: Member): void {
    member.tag = Math.max(member.tag, this.#virtualTime);
    this.waiting.add(member);
  }

  served(member: Member, units: number): void {
    this.#virtualTime = Math.max(this.#virtualTime, member.tag);
    member.tag += units;
    if (member.seat !== OUTSIDE) this.waiting.moved(member);
  }
}

class Tenant<Payload> implements Sharer {
  readonly name: string;
  readonly shares = new FairShare<Flow<Payload>>();
  readonly flows = new Map<number, Flow<Payload>>();
  units = 0;
  works = 0;
  tag = 0;
  seat = OUTSIDE;

  constructor(name: string) {
    this.name = name;
  }
}

/** What admission wants to know the wait of. */
export interface Asked extends FlowKind {
  readonly tenant: string;
  readonly urgency: Instant;
}

/** How much it asks for, and when. */
export interface AskedUnits {
  readonly units: number;
  readonly now: Instant;
}

/** The waiting works of one criticality: time is shared by tenants, within a tenant by cost classes. */
export class Lane<Payload> {
  readonly #shares = new FairShare<Tenant<Payload>>();
  readonly #tenants = new Map<string, Tenant<Payload>>();
  /** The youngest first, of those whose callers did not say how long they wait: set while the queue stands. */
  newestFirst = false;
  works = 0;
  rows = 0;
  units = 0;

  push(work: Work<Payload>): WorkList<Payload> {
    const tenant = this.#tenantFor(work.tenant);
    const flow = flowOf(tenant, work);
    const list = flow.push(work);
    work.flow = flow;
    if (flow.seat === OUTSIDE) tenant.shares.joined(flow);
    if (tenant.seat === OUTSIDE) this.#shares.joined(tenant);
    tenant.works += 1;
    tenant.units += work.units;
    this.works += 1;
    this.units += work.units;
    return list;
  }

  /** The next work, of one bucket or of any. */
  next(bucket?: string): Work<Payload> | undefined {
    const first = this.#shares.waiting.first;
    const flow = first?.shares.waiting.first;
    const work = flow && this.#nextOf(flow, bucket);
    return work ?? (bucket === undefined ? undefined : this.#search(bucket));
  }

  /** So many rows of a work went to a runner (`served`), or left otherwise. */
  left(work: Work<Payload>, left: { units: number; wholly: boolean; served: boolean }): void {
    const { flow } = work;
    const tenant = flow && this.#tenants.get(flow.tenant);
    assert(tenant, 'only a work that waits leaves its lane');
    flow.left(work, left);
    tenant.units -= left.units;
    this.units -= left.units;
    if (left.wholly) {
      tenant.works -= 1;
      this.works -= 1;
      work.flow = undefined;
    }
    if (left.served) {
      tenant.shares.served(flow, left.units);
      this.#shares.served(tenant, left.units);
    }
    if (flow.works === 0) tenant.shares.waiting.remove(flow);
    if (tenant.works > 0) return;
    tenant.units = 0;
    this.#shares.waiting.remove(tenant);
    if (this.works === 0) this.units = 0;
  }

  /** The work that was queued first. */
  oldest(): Work<Payload> | undefined {
    let oldest: Work<Payload> | undefined;
    for (const tenant of this.#shares.waiting) {
      for (const flow of tenant.shares.waiting) {
        const work = flow.oldest();
        if (work && (!oldest || work.enqueuedAt < oldest.enqueuedAt)) oldest = work;
      }
    }
    return oldest;
  }

  /** Units of this lane that are served before a new work, by the shares of those who wait now. */
  unitsBefore(asked: Asked, { units, now }: AskedUnits): number {
    if (this.works === 0) return 0;
    const own = this.#isNewestFirst(asked) ? 0 : (this.#flowOf(asked)?.unitsBefore(asked.urgency, now) ?? 0);
    return this.#withShares(asked, own + units) - units;
  }

  /** Whether what is due after the new work, in its own flow, still fits: `fits` is told units of the lane. */
  laterFits(asked: Asked, added: number, fits: (units: number, by: Instant) => boolean): boolean {
    const flow = this.#isNewestFirst(asked) || this.works === 0 ? undefined : this.#flowOf(asked);
    if (!flow) return true;
    return flow.laterFits(asked.urgency, (units, by) => fits(this.#withShares(asked, units + added), by));
  }

  /** While a flow is served so many units, what the others get beside it, and it itself. */
  #withShares(asked: Asked, own: number): number {
    const tenant = this.#tenants.get(asked.tenant);
    let inTenant = own;
    if (tenant && tenant.shares.waiting.size > 0) {
      for (const flow of tenant.shares.waiting) {
        if (flow.kind.costClass !== asked.costClass || flow.kind.deadlineTold !== asked.deadlineTold)
          inTenant += Math.min(flow.units, own);
      }
    }
    let units = inTenant;
    for (const other of this.#shares.waiting) if (other !== tenant) units += Math.min(other.units, inTenant);
    return units;
  }

  #flowOf(asked: Asked): Flow<Payload> | undefined {
    return this.#tenants.get(asked.tenant)?.flows.get(keyOf(asked));
  }

  #nextOf(flow: Flow<Payload>, bucket: string | undefined): Work<Payload> | undefined {
    return flow.next(this.#isNewestFirst(flow.kind), bucket);
  }

  /** Whoever said how long it waits gets its turn within that. */
  #isNewestFirst({ deadlineTold }: FlowKind): boolean {
    return this.newestFirst && !deadlineTold;
  }

  /** The least served of those that have a work of the bucket. */
  #search(bucket: string): Work<Payload> | undefined {
    let best: { tenant: Tenant<Payload>; flow: Flow<Payload>; work: Work<Payload> } | undefined;
    for (const tenant of this.#shares.waiting) {
      if (best && tenant.tag > best.tenant.tag) continue;
      for (const flow of tenant.shares.waiting) {
        if (best && best.tenant === tenant && flow.tag >= best.flow.tag) continue;
        const work = this.#nextOf(flow, bucket);
        if (work) best = { tenant, flow, work };
      }
    }
    return best?.work;
  }

  #tenantFor(name: string): Tenant<Payload> {
    const known = this.#tenants.get(name);
    if (known) return known;
    if (this.#tenants.size >= MAX_TENANTS) this.#forgetIdle();
    const counted = this.#tenants.size >= MAX_TENANTS ? OTHER_TENANTS : name;
    const tenant = this.#tenants.get(counted) ?? new Tenant<Payload>(counted);
    this.#tenants.set(counted, tenant);
    return tenant;
  }

  /** Those without works lose at most the memory of their last batch. */
  #forgetIdle(): void {
    for (const [name, tenant] of this.#tenants) if (tenant.works === 0) this.#tenants.delete(name);
  }
}

function flowOf<Payload>(tenant: Tenant<Payload>, kind: FlowKind): Flow<Payload> {
  const key = keyOf(kind);
  let flow = tenant.flows.get(key);
  if (!flow) {
    flow = new Flow(tenant.name, kind);
    tenant.flows.set(key, flow);
  }
  return flow;
}

function keyOf({ costClass, deadlineTold }: FlowKind): number {
  return costClass * 2 + (deadlineTold ? 0 : 1);
}

const LEAST_SERVED: HeapOrder<Sharer> = {
  before: (one, other) => one.tag < other.tag,
  seatOf: (member) => member.seat,
  seat: (member, index) => {
    member.seat = index;
  },
};
