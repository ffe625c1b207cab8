import { performance } from 'node:perf_hooks';
import type {
  AnswerParameters,
  BatchReport,
  GimbalError,
  Instant,
  JobPart,
  PartReport,
  PoolEvents,
  PoolNotice,
  RunnerEnd,
  RunnerPool,
  RunnerReady,
  Span,
  VersionSpec,
  Want,
} from '@gimbal/core';
import { SeededRandom } from '@gimbal/core';
import type { Arena } from '../../transport/arena.ts';
import { openArena } from '../../transport/open-arena.ts';
import type { RunnerLine } from '../process-options.ts';
import { createRunnerPool, type RunnerPoolOptions } from '../runner-pool.ts';

const ARENA_BYTES = 64 * 1024 * 1024;
/** A condition that is not met by then will not be met. */
const PATIENCE_MS = 15_000;
const NO_PARAMETERS: AnswerParameters = { topK: 5, threshold: 0 };

export interface PartInput {
  readonly tensors?: readonly { readonly bytes: Uint8Array; readonly shape: readonly number[] }[];
  readonly encoded?: Uint8Array;
  readonly rows?: number;
  readonly firstRow?: number;
  readonly sliced?: boolean;
  readonly want?: Want;
}

export interface PoolHarnessOptions extends Partial<Omit<RunnerPoolOptions, 'spec' | 'arena' | 'events'>> {
  readonly kind?: 'shared' | 'heap';
  readonly arenaBytes?: number;
}

/** A real pool with an arena of its own; records what happens and waits for it. */
export class PoolHarness {
  readonly arena: Arena;
  readonly pool: RunnerPool;
  readonly ready: { readonly id: string; readonly ready: RunnerReady }[] = [];
  readonly retiring: string[] = [];
  readonly lost: {
    readonly id: string;
    readonly error: GimbalError;
    readonly end: RunnerEnd | undefined;
  }[] = [];
  readonly notices: PoolNotice[] = [];
  readonly faults: (GimbalError | undefined)[] = [];
  readonly lines: RunnerLine[] = [];
  /** What was told, in order. */
  readonly log: string[] = [];
  readonly #reports = new Map<number, BatchReport>();
  readonly #inputs = new Map<number, Span[]>();
  readonly #watchers = new Set<() => void>();
  #batchId = 0;
  /** Unused bytes after each input. */
  #spacing = 0;

  constructor(spec: VersionSpec, options: PoolHarnessOptions = {}) {
    const { kind = 'shared', arenaBytes = ARENA_BYTES, ...rest } = options;
    this.arena = openArena(arenaBytes, kind).arena;
    this.pool = createRunnerPool({
      spec,
      variant: 0,
      threads: 1,
      arena: this.arena,
      clock: { now: () => performance.now(), wallTimeMs: () => Date.now() },
      random: new SeededRandom(7),
      onLine: (line) => this.lines.push(line),
      ...rest,
      limits: { profileBudgetMs: 50, ...rest.limits },
      events: this.#events(),
    });
    this.pool.start();
  }

  /** The id of the `index`th runner that became ready, waiting for it. */
  async runner(index = 0): Promise<string> {
    await this.until(() => this.ready.length > index || this.faults.length > 0, 'a runner is ready');
    const fault = this.faults[0];
    const found = this.ready[index];
    if (!found) throw fault ?? new Error('the pool is at fault');
    return found.id;
  }

  /** Writes inputs into the arena, each at a place of its own, and starts a batch. Gives its id. */
  run(id: string, parts: readonly PartInput[], predictedMs = 1000, latestDeadline?: Instant): number {
    this.#batchId += 1;
    const spans: Span[] = [];
    const jobParts = parts.map((part) => this.#part(part, spans));
    this.#inputs.set(this.#batchId, spans);
    this.pool.run(id, { id: this.#batchId, parts: jobParts }, predictedMs, latestDeadline);
    return this.#batchId;
  }

  async report(batchId: number): Promise<BatchReport> {
    await this.until(() => this.#reports.has(batchId), `batch ${batchId} is reported`);
    return this.#reports.get(batchId) as BatchReport;
  }

  /** Runs a batch and gives copies of what its parts came to; all memory is returned. */
  async results(
    id: string,
    parts: readonly PartInput[],
    { spacing = 0 }: { spacing?: number } = {},
  ): Promise<readonly PartReport[]> {
    this.#spacing = spacing;
    const batchId = this.run(id, parts);
    this.#spacing = 0;
    const report = await this.report(batchId);
    const copies = report.parts.map(copyOf);
    this.release(batchId);
    return copies;
  }

  /** Returns the memory of a batch: its inputs and, when it was reported, its outputs. */
  release(batchId: number): void {
    for (const span of this.#inputs.get(batchId) ?? []) this.arena.free(span);
    this.#inputs.delete(batchId);
    this.#reports.get(batchId)?.release();
    this.#reports.delete(batchId);
  }

  async until(met: () => boolean, what: string): Promise<void> {
    if (met()) return;
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#watchers.delete(check);
        reject(new Error(`waited in vain until ${what}; events so far: ${this.log.join(', ')}`));
      }, PATIENCE_MS);
      const check = () => {
        if (!met()) return;
        clearTimeout(timer);
        this.#watchers.delete(check);
        resolve();
      };
      this.#watchers.add(check);
    });
  }

  async stop(graceMs = 1000): Promise<void> {
    await this.pool.stop(graceMs);
  }

  #part(part: PartInput, spans: Span[]): JobPart {
    const place = (bytes: Uint8Array): Span => {
      const span = this.arena.allocate(bytes.length);
      if (!span) throw new Error('the arena of the test is full');
      this.arena.bytes.set(bytes, span.offset);
      spans.push(span);
      const spacer = this.arena.allocate(this.#spacing);
      if (spacer) spans.push(spacer);
      return span;
    };
    const input = part.encoded
      ? ({ kind: 'encoded', span: place(part.encoded) } as const)
      : ({
          kind: 'tensors',
          tensors: (part.tensors ?? []).map(({ bytes, shape }) => ({ span: place(bytes), shape })),
        } as const);
    return {
      input,
      rows: part.rows ?? part.tensors?.[0]?.shape[0] ?? 1,
      firstRow: part.firstRow ?? 0,
      sliced: part.sliced ?? false,
      want: part.want ?? 'tensors',
      parameters: NO_PARAMETERS,
    };
  }

  #events(): PoolEvents {
    return {
      onReady: (id, ready) => {
        this.ready.push({ id, ready });
        this.#tell(`ready ${id}`);
      },
      onRetiring: (id) => {
        this.retiring.push(id);
        this.#tell(`retiring ${id}`);
      },
      onLost: (id, error, end) => {
        this.lost.push({ id, error, end });
        this.#tell(`lost ${id} ${error.code}`);
      },
      onReport: (id, batchId, report) => {
        this.#reports.set(batchId, report);
        this.#tell(`report ${id} ${batchId}`);
      },
      onNotice: (notice) => {
        this.notices.push(notice);
        this.#tell(`${notice.kind}${'runner' in notice ? ` ${notice.runner}` : ''}`);
      },
      onFault: (error) => {
        this.faults.push(error);
        this.#tell(`fault ${error?.message ?? 'over'}`);
      },
    };
  }

  #tell(event: string): void {
    this.log.push(event);
    for (const check of [...this.#watchers]) check();
  }
}

function copyOf(part: PartReport): PartReport {
  if (!part.ok) return part;
  const { output } = part;
  if (output.kind === 'answer') return { ok: true, output: { kind: 'answer', json: output.json.slice() } };
  return {
    ok: true,
    output: {
      ...output,
      outputs: output.outputs.map(({ bytes, shape }) => ({ bytes: bytes.slice(), shape })),
    },
  };
}
