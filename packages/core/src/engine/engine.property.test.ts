import { describe, expect, it } from 'vitest';
import { type Random, randomInteger, SeededRandom } from '../base/random.ts';
import type { Criticality } from '../contract/inference-port.ts';
import type { CostProfile } from '../contract/model.ts';
import { GimbalError } from '../errors/gimbal-error.ts';
import type { RunEndCause } from '../policy/quarantine/verdict.ts';
import type { Batch, BatchPart } from './batch.ts';
import type { RunnerPlace } from './engine-driver.ts';
import type { WorkOutcome } from './outcome.ts';
import { rowsOf, SimulatedHost, type SimulatedPayload } from './testing/simulated-host.ts';
import type { Work } from './work.ts';

/** Interleavings per test run; a failing seed is in the test's name. */
const SEEDS = 200;
const STEPS = 250;
const MAX_ROWS = 8;
const MAX_QUEUED_BYTES = 4000;
const PROFILE: CostProfile = { fixedMs: 2, perRowMs: 1, points: [], bestRows: MAX_ROWS };
const CAUSES: readonly RunEndCause[] = ['crashed', 'hung', 'killed', 'oom-killed', 'stopped'];
const LANES: readonly Criticality[] = ['critical', 'default', 'sheddable'];
/** Chance of each thing to happen in a step, in percent; the rest of the time nothing does. */
const CHANCES = { submit: 50, cancel: 8, ready: 9, lost: 4, retiring: 3, faulted: 2, reload: 1, stall: 2 };

/** Checks every effect of the engine as it happens. */
class StrictHost extends SimulatedHost {
  readonly cancelled = new Set<number>();
  /** Runners that are ready, with how many batches each may have. */
  readonly ready = new Map<RunnerPlace, 'serving' | 'retiring'>();
  batchesPerRunner = 1;

  override dispatch(batch: Batch<SimulatedPayload>): void {
    const place = [...this.ready.keys()].find(
      ({ version, rung, runnerId }) =>
        runnerId === batch.runner && rung === batch.rung && version === batch.version,
    );
    expect(place && this.ready.get(place), 'only serving runners get work').toBe('serving');
    if (place) expect(this.runningOn(place)).toBeLessThan(this.batchesPerRunner);
    expect(new Set(batch.parts.map(({ work }) => work.bucket)).size, 'buckets are never mixed').toBe(1);
    expect(batch.rows).toBe(batch.parts.reduce((sum, { rows }) => sum + rows, 0));
    expect(batch.parts.length).toBeLessThanOrEqual(MAX_ROWS);
    if (batch.parts.length > 1) expect(batch.rows).toBeLessThanOrEqual(MAX_ROWS);
    for (const part of batch.parts) this.#checkPart(part, batch);
    super.dispatch(batch);
  }

  #checkPart({ work, rows }: BatchPart<SimulatedPayload>, batch: Batch<SimulatedPayload>): void {
    expect(work.version, 'works keep to their version').toBe(batch.version);
    expect(this.outcomes.has(work.payload.identity), 'nothing settled is run').toBe(false);
    expect(work.deadline, 'nothing late is run').toBeGreaterThan(this.now);
    if (work.splittable) expect(batch.rows).toBeLessThanOrEqual(MAX_ROWS);
    else expect(rows).toBe(work.rows);
    const pool = this.engine.pools(batch.version)[batch.rung];
    const waiting = (pool?.queue.works ?? 0) - (work.status === 'queued' ? 1 : 0);
    if (waiting === 0 && batch.parts.length === 1) return;
    expect(work.deadline, 'a margin of one batch').toBeGreaterThan(this.now + batch.predictedMs);
  }

  override settle(work: Work<SimulatedPayload>, outcome: WorkOutcome): void {
    super.settle(work, outcome);
    const { identity } = work.payload;
    expect(outcome.kind === 'cancelled').toBe(this.cancelled.has(identity));
    if (outcome.kind === 'done') checkAnswer(work, outcome);
    if (outcome.kind === 'failed' && outcome.error.code !== 'DEADLINE_EXCEEDED') {
      expect(work.deadline, 'what fails for another reason was still in time').toBeGreaterThan(this.now);
    }
  }
}

function checkAnswer(work: Work<SimulatedPayload>, outcome: Extract<WorkOutcome, { kind: 'done' }>): void {
  let row = 0;
  for (const { firstRow, report } of outcome.reports) {
    expect(firstRow, 'parts are in row order, without gaps').toBe(row);
    for (const answered of rowsOf(report)) {
      expect(answered, 'answers never leak into another work').toEqual({
        identity: work.payload.identity,
        row,
      });
      row += 1;
    }
    expect(report.ok || outcome.reports.length === 1 || work.splittable).toBe(true);
    if (!report.ok) return;
  }
  expect(row, 'every row is answered').toBe(work.rows);
}

/** Does random things to a host. */
class World {
  readonly host = new StrictHost();
  readonly random: Random;
  #version = 0;
  #nextRunner = 0;

  constructor(seed: number) {
    this.random = new SeededRandom(seed);
    this.host.batchesPerRunner = randomInteger(this.random, { low: 1, high: 2 });
    // Now and then a part fails alone: its neighbours must not notice.
    this.host.onPart = () =>
      this.random.next() < 0.05
        ? {
            ok: false,
            code: this.#pick(['MODEL_FAULT', 'MODEL_FAULT', 'OUT_OF_MEMORY'] as const),
            message: 'no',
            fields: [],
          }
        : undefined;
    this.load();
  }

  get version(): string {
    return `v${this.#version}`;
  }

  load(): void {
    this.#version += 1;
    const pool = {
      maxRows: MAX_ROWS,
      maxDelayMs: 5,
      preferredSizes: this.#pick([[], [4, 8]]),
      batchesPerRunner: this.host.batchesPerRunner,
    };
    const maxQueuedBytes = MAX_QUEUED_BYTES;
    this.host.engine.addVersion({ version: this.version, maxQueuedBytes, pools: [pool, pool] });
  }

  step(): void {
    let dice = this.random.next() * 100;
    const happens = (percent: number): boolean => {
      dice -= percent;
      return dice < 0 && dice >= -percent;
    };
    if (happens(CHANCES.submit)) this.#submit();
    if (happens(CHANCES.cancel)) this.#cancel();
    if (happens(CHANCES.ready)) this.#addRunner();
    if (happens(CHANCES.lost)) this.#lose(this.#pick([...this.host.ready.keys()]));
    if (happens(CHANCES.retiring)) this.#retire(this.#pick([...this.host.ready.keys()]));
    if (happens(CHANCES.faulted)) this.#fault();
    if (happens(CHANCES.reload)) this.#reload();
    if (happens(CHANCES.stall)) for (const place of this.host.ready.keys()) this.host.stall(place, 30);
    if (this.random.next() < 0.6) this.host.advance(this.random.next() * 4);
    const pools = this.host.engine.pools(this.version);
    expect(pools.reduce((sum, { queue }) => sum + queue.bytes, 0)).toBeLessThanOrEqual(MAX_QUEUED_BYTES);
  }

  /** Nothing new; the version is removed, and whatever is left ends by its deadline or its batch. */
  end(): void {
    const last = this.version;
    this.host.engine.removeVersion(last, this.host.now);
    this.host.finish(5000);
    // Retiring runners leave, and with them the last thing that a version waits for.
    for (const place of [...this.host.ready.keys()]) this.#lose(place);
  }

  #submit(): void {
    const large = this.random.next() < 0.4;
    const splittable = large && this.random.next() < 0.7;
    this.host.submit({
      version: this.version,
      rows: large ? randomInteger(this.random, { low: 0, high: splittable ? 30 : 10 }) : 1,
      bucket: `b${randomInteger(this.random, { low: 0, high: 2 })}`,
      splittable,
      lane: this.#pick(LANES),
      tenant: this.#pick(['', 'a', 'b']),
      costClass: this.#pick([0, 0, 7]),
      deadlineTold: this.random.next() < 0.7,
      repeatable: this.random.next() < 0.7,
      bytes: randomInteger(this.random, { low: 0, high: 1000 }),
      timeoutMs: randomInteger(this.random, { low: -2, high: this.random.next() < 0.2 ? 1000 : 120 }),
    });
  }

  #cancel(): void {
    const open = [...this.host.works.values()].filter((work) => this.host.outcomeOf(work) === undefined);
    if (open.length === 0) return;
    const work = this.#pick(open);
    this.host.cancelled.add(work.payload.identity);
    this.host.cancel(work);
    expect(this.host.outcomeOf(work), 'cancelled at once').toEqual({ kind: 'cancelled' });
  }

  #addRunner(): void {
    if (this.host.ready.size >= 5) return;
    this.#nextRunner += 1;
    const rung = randomInteger(this.random, { low: 0, high: 1 });
    const place = { version: this.version, rung, runnerId: `r${this.#nextRunner}` };
    this.host.ready.set(place, 'serving');
    this.host.runnerReady(place, PROFILE);
  }

  #lose(place: RunnerPlace | undefined): void {
    if (!place) return;
    this.host.ready.delete(place);
    const cause = this.#pick(CAUSES);
    const error = new GimbalError('RUNNER_CRASHED', 'Cannot answer: the runner crashed');
    this.host.runnerLost(place, { error, cause });
  }

  #retire(place: RunnerPlace | undefined): void {
    if (!place) return;
    this.host.ready.set(place, 'retiring');
    this.host.runnerRetiring(place);
  }

  #fault(): void {
    const rung = randomInteger(this.random, { low: 0, high: 1 });
    const works = [...this.host.ready].some(
      ([place, state]) => place.rung === rung && place.version === this.version && state === 'serving',
    );
    // As supervisors do: a variant is at fault only while none of its runners works.
    if (works) return;
    const error = new GimbalError('MODEL_UNAVAILABLE', 'Cannot run the model: it crashes in a loop');
    this.host.faulted({ version: this.version, rung }, this.random.next() < 0.7 ? error : undefined);
  }

  /** The next version is there before the old one goes. */
  #reload(): void {
    const old = this.version;
    this.load();
    this.host.engine.removeVersion(old, this.host.now);
    this.host.submit({ version: old });
  }

  #pick<Item>(items: readonly Item[]): Item {
    return items[randomInteger(this.random, { low: 0, high: items.length - 1 })] as Item;
  }
}

describe('Engine under random interleavings', () => {
  it.each(Array.from({ length: SEEDS }, (_, seed) => seed))(
    'gives each work exactly its own outcome and keeps nothing (seed %i)',
    (seed) => {
      const world = new World(seed);
      const { host } = world;
      for (let step = 0; step < STEPS; step += 1) world.step();
      const pools = host.engine.pools(world.version);
      world.end();
      expect(host.outcomes.size).toBe(host.works.size);
      expect(host.engine.open).toBe(0);
      for (const pool of pools) {
        const view = pool.view(host.now);
        expect(view).toMatchObject({ queuedRows: 0, queuedBytes: 0, runningRows: 0, runningBatches: 0 });
        expect(pool.queue.works + pool.queue.buckets + pool.queue.runs).toBe(0);
      }
      const versions = Number(world.version.slice(1));
      expect(host.drainedVersions).toHaveLength(versions);
      expect(new Set(host.drainedVersions).size).toBe(versions);
    },
  );

  it('really makes all kinds of outcomes and batches', () => {
    const kinds = new Map<string, number>();
    let shared = 0;
    let split = 0;
    for (let seed = 1000; seed < 1030; seed += 1) {
      const world = new World(seed);
      for (let step = 0; step < STEPS; step += 1) world.step();
      world.end();
      for (const outcome of world.host.outcomes.values()) {
        const kind = outcome.kind === 'failed' ? outcome.error.code : outcome.kind;
        kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
        if (outcome.kind === 'done' && outcome.reports.length > 1) split += 1;
      }
      for (const { parts } of world.host.batches) if (parts.length > 1) shared += 1;
    }
    for (const kind of [
      'done',
      'cancelled',
      'DEADLINE_EXCEEDED',
      'OVERLOADED',
      'RUNNER_CRASHED',
      'MODEL_LOADING',
      'MODEL_UNAVAILABLE',
      'MODEL_FAULT',
    ]) {
      expect(kinds.get(kind) ?? 0, kind).toBeGreaterThan(10);
    }
    expect(shared).toBeGreaterThan(100);
    expect(split).toBeGreaterThan(50);
  });
});
