import { performance } from 'node:perf_hooks';
import {
  type BatchReport,
  type GimbalError,
  type JobPart,
  type PoolEvents,
  type RemoteSpec,
  type RunnerReady,
  SeededRandom,
  type VersionSpec,
  type Want,
} from '@gimbal/core';
import { HeapArena } from '../../transport/heap-arena.ts';
import type { EndpointView } from '../endpoint.ts';
import { createRemotePool, type RemotePool, type RemotePoolOptions } from '../remote-pool.ts';
import { aRemote, aRemoteVersion } from './a-remote.ts';

/** A condition that is not met by then will not be met. */
const PATIENCE_MS = 10_000;
const ARENA_BYTES = 4 * 1024 * 1024;

export interface HarnessPart {
  readonly values?: readonly number[];
  readonly shape?: readonly number[];
  readonly text?: string;
  readonly want?: Want;
  /** Rows of `values` that the part is about, when not all. */
  readonly slice?: { readonly firstRow: number; readonly rows: number };
}

export interface HarnessRun {
  readonly deadlineMs?: number;
  readonly predictedMs?: number;
}

/** A real pool; its slots are handed out to batches as the engine would. */
export class RemoteHarness {
  readonly pool: RemotePool;
  readonly arena = new HeapArena(ARENA_BYTES);
  readonly free: string[] = [];
  readonly readies: RunnerReady[] = [];
  readonly lost: { id: string; error: GimbalError }[] = [];
  readonly retiring: string[] = [];
  readonly faults: (GimbalError | undefined)[] = [];
  readonly endpointLog: EndpointView[] = [];
  readonly #reports = new Map<number, (report: BatchReport) => void>();
  readonly #losses = new Map<string, (error: GimbalError) => void>();
  #batchId = 0;

  constructor(
    remote: Partial<RemoteSpec>,
    { version = {}, ...options }: Partial<RemotePoolOptions> & { version?: Partial<VersionSpec> } = {},
  ) {
    this.pool = createRemotePool({
      spec: aRemoteVersion(aRemote(remote), version),
      variant: 0,
      arena: this.arena,
      clock: { now: () => performance.now(), wallTimeMs: () => performance.timeOrigin + performance.now() },
      random: new SeededRandom(3),
      environment: {},
      onEndpoint: (view) => this.endpointLog.push(view),
      ...options,
      limits: {
        profileBudgetMs: 30,
        firstBackOffMs: 50,
        maxBackOffMs: 200,
        timeoutFloorMs: 150,
        ...options.limits,
      },
      events: this.#events(),
    });
    this.pool.start();
  }

  /** Resolves with the report of a batch that takes the next slot which is ready; fails when the slot is lost with it. */
  async run(parts: readonly HarnessPart[], run: HarnessRun = {}): Promise<BatchReport> {
    return await (await this.begin(parts, run)).report;
  }

  async begin(
    parts: readonly HarnessPart[],
    { deadlineMs = 2_000, predictedMs = 5 }: HarnessRun = {},
  ): Promise<{ id: string; batchId: number; report: Promise<BatchReport> }> {
    let id = this.free.shift();
    while (id === undefined) {
      await eventually('a slot is ready', () => this.free.length > 0);
      id = this.free.shift();
    }
    const taken = id;
    this.#batchId += 1;
    const batchId = this.#batchId;
    const spans = parts.map((part) => this.#place(part));
    const report = new Promise<BatchReport>((resolve, reject) => {
      this.#reports.set(batchId, resolve);
      this.#losses.set(taken, reject);
    }).finally(() => {
      for (const { span } of spans) this.arena.free(span);
    });
    const job = { id: batchId, parts: spans.map(({ part }) => part) };
    this.pool.run(id, job, predictedMs, performance.now() + deadlineMs);
    return { id, batchId, report };
  }

  async stop(graceMs = 200): Promise<void> {
    await this.pool.stop(graceMs);
    this.arena.close();
  }

  #events(): PoolEvents {
    return {
      onReady: (id, ready) => {
        this.readies.push(ready);
        this.free.push(id);
      },
      onRetiring: (id) => {
        this.retiring.push(id);
        this.#drop(id);
      },
      onLost: (id, error) => {
        this.lost.push({ id, error });
        this.#drop(id);
        this.#losses.get(id)?.(error);
      },
      onReport: (id, batchId, report) => {
        this.#losses.delete(id);
        this.#reports.get(batchId)?.(report);
        this.#reports.delete(batchId);
        if (!this.retiring.includes(id)) this.free.push(id);
      },
      onFault: (error) => this.faults.push(error),
    };
  }

  #drop(id: string): void {
    const at = this.free.indexOf(id);
    if (at >= 0) this.free.splice(at, 1);
  }

  #place(given: HarnessPart): { span: { offset: number; byteLength: number }; part: JobPart } {
    const { values = [], text, want = 'tensors', slice } = given;
    const bytes = text === undefined ? new Uint8Array(Float32Array.from(values).buffer) : Buffer.from(text);
    const shape = given.shape ?? [values.length / 4, 4];
    const span = this.arena.allocate(bytes.length);
    if (!span) throw new Error('the arena is full');
    this.arena.bytes.set(bytes, span.offset);
    const input =
      text === undefined
        ? ({ kind: 'tensors', tensors: [{ span, shape }] } as const)
        : ({ kind: 'encoded', span } as const);
    const { firstRow, rows } = slice ?? { firstRow: 0, rows: text === undefined ? (shape[0] ?? 1) : 1 };
    const parameters = { topK: 5, threshold: 0 };
    return { span, part: { input, firstRow, rows, sliced: slice !== undefined, want, parameters } };
  }
}

/** Float outputs of each part, or its error's code. */
export function resultsOf(report: BatchReport): (number[] | string)[] {
  return report.parts.map((part) => {
    if (!part.ok) return part.code;
    if (part.output.kind === 'answer') return Buffer.from(part.output.json).toString();
    const bytes = part.output.outputs[0]?.bytes.slice() ?? new Uint8Array(0);
    return [...new Float32Array(bytes.buffer)];
  });
}

export async function eventually(what: string, condition: () => boolean): Promise<void> {
  const end = performance.now() + PATIENCE_MS;
  while (!condition()) {
    if (performance.now() > end) throw new Error(`${what}: not so within ${PATIENCE_MS} ms`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
