import { describe, expect, it } from 'vitest';
import { type Random, randomInteger, SeededRandom } from '../base/random.ts';
import type { CostProfile } from '../contract/model.ts';
import type { BatchReport, PartReport } from '../contract/runner-port.ts';
import { GimbalError } from '../errors/gimbal-error.ts';
import type { Batch } from './batch.ts';
import { Engine, type EngineDriver, type WorkOutcome } from './engine.ts';
import { Work } from './work.ts';

/** Interleavings per test run; a failing seed is in the test's name. */
const SEEDS = 300;
const STEPS = 150;
const MAX_ROWS = 8;
const PROFILE: CostProfile = { fixedMs: 2, perRowMs: 1, points: [], bestRows: MAX_ROWS };

interface Payload {
  readonly identity: number;
}

/** A world of simulated runners: each row's answer names the work and the row that it came from. */
class World implements EngineDriver<Payload> {
  readonly engine = new Engine<Payload>(this);
  readonly random: Random;
  now = 0;
  nextIdentity = 0;
  nextRunner = 0;
  readonly works = new Map<number, Work<Payload>>();
  readonly outcomes = new Map<number, WorkOutcome>();
  readonly cancelled = new Set<number>();
  readonly running = new Map<string, Batch<Payload>>();
  readonly ready = new Map<string, number>();
  drainedVersions: string[] = [];

  constructor(seed: number) {
    this.random = new SeededRandom(seed);
    const pool = { maxRows: MAX_ROWS, maxDelayMs: 5, preferredSizes: [] };
    this.engine.addVersion({ version: 'v', pools: [pool, pool] });
  }

  dispatch(batch: Batch<Payload>): void {
    expect(this.running.has(batch.runner), 'a runner has one batch at a time').toBe(false);
    expect(this.ready.get(batch.runner), 'only ready runners of the rung get work').toBe(batch.rung);
    expect(new Set(batch.parts.map((part) => part.work.bucket)).size, 'buckets are never mixed').toBe(1);
    expect(batch.rows).toBe(batch.parts.reduce((sum, part) => sum + part.rows, 0));
    if (batch.parts.length > 1) expect(batch.rows).toBeLessThanOrEqual(MAX_ROWS);
    for (const part of batch.parts) {
      expect(part.work.deadline, 'nothing late is run').toBeGreaterThan(this.now);
      expect(this.outcomes.has(part.work.payload.identity), 'nothing settled is run').toBe(false);
      if (!part.work.splittable) expect(part.rows).toBe(part.work.rows);
    }
    this.running.set(batch.runner, batch);
  }

  settle(work: Work<Payload>, outcome: WorkOutcome): void {
    const { identity } = work.payload;
    expect(this.outcomes.has(identity), 'one outcome for each work').toBe(false);
    this.outcomes.set(identity, outcome);
    if (this.cancelled.has(identity)) expect(outcome.kind).toBe('cancelled');
    if (outcome.kind !== 'done') return;
    let row = 0;
    for (const { firstRow, report } of outcome.reports) {
      expect(firstRow, 'parts are in row order, without gaps').toBe(row);
      expect(report.ok).toBe(true);
      const json =
        report.ok && report.output.kind === 'answer' ? new TextDecoderLite().decode(report.output.json) : '';
      const [owner, from, rows] = json.split('/').map(Number);
      expect(owner, 'answers never leak into another work').toBe(identity);
      expect(from).toBe(firstRow);
      row += rows ?? 0;
    }
    expect(row).toBe(work.rows);
  }

  drained(version: string): void {
    this.drainedVersions.push(version);
  }

  submit(): void {
    this.nextIdentity += 1;
    const splittable = this.random.next() < 0.7;
    const rows = splittable
      ? randomInteger(this.random, { low: 1, high: 30 })
      : randomInteger(this.random, { low: 1, high: 4 });
    const work = new Work<Payload>({
      version: 'v',
      rows: this.random.next() < 0.6 ? 1 : rows,
      bucket: `b${randomInteger(this.random, { low: 0, high: 2 })}`,
      splittable,
      lane:
        (['critical', 'default', 'sheddable'] as const)[randomInteger(this.random, { low: 0, high: 2 })] ??
        'default',
      enqueuedAt: this.now,
      deadline:
        this.now + randomInteger(this.random, { low: -2, high: this.random.next() < 0.1 ? 1000 : 120 }),
      payload: { identity: this.nextIdentity },
    });
    this.works.set(this.nextIdentity, work);
    this.engine.submit(work, this.now);
  }

  cancel(): void {
    const open = [...this.works.keys()].filter((identity) => !this.outcomes.has(identity));
    const identity = open[randomInteger(this.random, { low: 0, high: Math.max(0, open.length - 1) })];
    if (identity === undefined) return;
    this.cancelled.add(identity);
    this.engine.cancel(this.works.get(identity) as Work<Payload>);
    expect(this.outcomes.get(identity)?.kind).toBe('cancelled');
  }

  addRunner(): void {
    if (this.ready.size >= 4) return;
    this.nextRunner += 1;
    const rung = randomInteger(this.random, { low: 0, high: 1 });
    const id = `r${this.nextRunner}`;
    this.ready.set(id, rung);
    this.engine.runnerReady({ version: 'v', rung, runnerId: id }, PROFILE, this.now);
  }

  lose(id: string): void {
    const rung = this.ready.get(id);
    if (rung === undefined) return;
    this.ready.delete(id);
    this.running.delete(id);
    this.engine.runnerLost(
      { version: 'v', rung, runnerId: id },
      new GimbalError('RUNNER_CRASHED', 'gone'),
      this.now,
    );
  }

  loseOne(): void {
    const id = [...this.ready.keys()][0];
    if (id !== undefined) this.lose(id);
  }

  report(): void {
    const entry = [...this.running.entries()][
      randomInteger(this.random, { low: 0, high: Math.max(0, this.running.size - 1) })
    ];
    if (!entry) return;
    const [id, batch] = entry;
    this.running.delete(id);
    const parts: PartReport[] = batch.parts.map((part) => ({
      ok: true,
      output: {
        kind: 'answer',
        json: new TextDecoderLite().encode(`${part.work.payload.identity}/${part.firstRow}/${part.rows}`),
      },
    }));
    const report: BatchReport = { parts, preprocessMs: 0, inferMs: 1, postprocessMs: 0, release: () => {} };
    this.engine.batchReported({ version: 'v', rung: batch.rung, runnerId: id }, batch.id, report, this.now);
  }

  step(): void {
    this.now += this.random.next() * 4;
    const dice = this.random.next();
    if (dice < 0.45) this.submit();
    else if (dice < 0.75) this.report();
    else if (dice < 0.82) this.cancel();
    else if (dice < 0.92) this.addRunner();
    else if (dice < 0.96) this.loseOne();
    this.engine.poll(this.now);
  }

  /** Runs everything to its end: runners stay, deadlines pass, batches come back. */
  quiesce(): void {
    while (this.ready.size < 1) this.addRunner();
    for (let turn = 0; turn < 400; turn += 1) {
      this.now += 5;
      this.report();
      this.engine.poll(this.now);
      if (this.running.size === 0 && this.outcomes.size === this.works.size) return;
    }
  }
}

/** ASCII only; the core's own language level has no TextDecoder. */
class TextDecoderLite {
  decode(bytes: Uint8Array): string {
    return String.fromCharCode(...bytes);
  }

  encode(text: string): Uint8Array {
    return Uint8Array.from(text, (character) => character.charCodeAt(0));
  }
}

describe('Engine under random interleavings', () => {
  it.each(Array.from({ length: SEEDS }, (_, seed) => seed))(
    'gives each work exactly its own outcome (seed %i)',
    (seed) => {
      const world = new World(seed);
      for (let step = 0; step < STEPS; step += 1) world.step();
      world.quiesce();
      expect(world.outcomes.size).toBe(world.works.size);
      for (const pool of world.engine.pools('v')) {
        expect(pool.queue.works).toBe(0);
        expect(pool.queue.rows).toBe(0);
        expect(pool.runningRows).toBe(0);
      }
      world.engine.removeVersion('v', world.now);
      expect(world.drainedVersions).toEqual(['v']);
    },
  );
});
