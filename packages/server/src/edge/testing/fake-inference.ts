import {
  type CallContext,
  type CatalogueEntry,
  GimbalError,
  type InferencePort,
  type PartOutput,
  STREAMED,
  type VersionState,
  type VersionStatistics,
  type VersionView,
  type WorkRequest,
  type WorkResult,
} from '@gimbal/core';
import { FakeArena } from './fake-arena.ts';
import { FakeCall, type FakeWork } from './fake-call.ts';
import { emptyStatistics, type FakeModel, type FakeTensor } from './fake-model.ts';

const DEFAULT_ARENA_BYTES = 8 * 1024 * 1024;

/** One version of the fake repository; tests change its members at will. */
export interface FakeVersion {
  readonly model: FakeModel;
  state: VersionState;
  reason: string | undefined;
  statistics: VersionStatistics;
}

/**
 * The whole program behind the edges, in memory. Works are settled by `settleAll()`, never inside `submit`;
 * `assertClean()` fails unless every call was closed exactly once and every block came back.
 */
export class FakeInference implements InferencePort {
  ready = true;
  draining = false;
  readonly versions: FakeVersion[];
  readonly calls: FakeCall[] = [];
  /** Thrown by the next `open`, once. */
  refuseNext: GimbalError | undefined;
  /** Given to every work instead of computing. */
  failWith: GimbalError | undefined;
  /** Rows of each part of an answer; undefined: one part. */
  partRows: number | undefined;
  readonly loads: string[] = [];
  readonly unloads: string[] = [];
  readonly arena: FakeArena;

  constructor(models: readonly FakeModel[], arenaBytes = DEFAULT_ARENA_BYTES) {
    this.arena = new FakeArena(arenaBytes);
    this.versions = models.map((model) => ({
      model,
      state: 'ready',
      reason: undefined,
      statistics: emptyStatistics(),
    }));
  }

  catalogue(): readonly CatalogueEntry[] {
    const names = [...new Set(this.versions.map(({ model }) => model.spec.model))];
    return names.map((model) => ({
      model,
      versions: this.#versionsOf(model).map(viewOf),
      failures: [],
    }));
  }

  resolve(model: string, version: string | undefined): VersionView {
    const view = this.find(model, version);
    if (view.state === 'ready') return view;
    const code = view.state === 'loading' ? 'MODEL_LOADING' : 'MODEL_UNAVAILABLE';
    throw new GimbalError(code, `Cannot use model "${model}": it is ${view.state}`, { retryAfterMs: 1000 });
  }

  find(model: string, version: string | undefined): VersionView {
    const versions = this.#versionsOf(model);
    if (versions.length === 0) {
      throw new GimbalError('MODEL_NOT_FOUND', `Cannot find model "${model}": there is none of that name`);
    }
    const chosen =
      version === undefined
        ? (versions.findLast(({ state }) => state === 'ready') ?? versions.at(-1))
        : versions.find((candidate) => candidate.model.spec.version === version);
    if (!chosen) {
      throw new GimbalError('VERSION_NOT_FOUND', `Cannot find version "${version}" of model "${model}"`);
    }
    return viewOf(chosen);
  }

  open(version: VersionView, context: CallContext): FakeCall {
    const refusal = this.refuseNext;
    this.refuseNext = undefined;
    if (refusal) throw refusal;
    const call = new FakeCall(this.arena, version, context);
    this.calls.push(call);
    return call;
  }

  load(model: string): Promise<void> {
    this.loads.push(model);
    try {
      this.find(model, undefined);
      return Promise.resolve();
    } catch (error) {
      return Promise.reject(error);
    }
  }

  unload(model: string): Promise<void> {
    this.unloads.push(model);
    return Promise.resolve().then(() => {
      this.find(model, undefined);
    });
  }

  /** Works submitted and not settled, of calls still open. */
  get waiting(): readonly FakeWork[] {
    return this.calls.flatMap((call) => (call.closed ? [] : call.works.filter((work) => !work.settled)));
  }

  /** Computes and settles everything that waits; returns how many works that were. */
  settleAll(): number {
    const works = this.waiting;
    for (const work of works) {
      if (!this.failWith)
        for (const piece of this.piecesOf(work)) if (work.onPiece) work.call.give(work, piece);
      // An earlier one of the same call may have ended it.
      if (!work.call.closed) work.call.settle(work, this.#resultOf(work));
    }
    return works.length;
  }

  /** What a work's model yields; nothing unless it streams. */
  piecesOf({ call, request }: FakeWork): readonly PartOutput[] {
    const model = this.#modelOf(call);
    const pieces = model.stream?.(this.#tensorsOf(request)) ?? [];
    return pieces.map(({ outputs, answer }) =>
      request.want === 'tensors'
        ? { kind: 'tensors', rows: 1, outputs: outputs.map(unaligned) }
        : { kind: 'answer', json: new TextEncoder().encode(answer) },
    );
  }

  /** Fails unless every call is closed exactly once, and no memory is out. */
  assertClean(): void {
    this.calls.forEach((call, index) => {
      if (call.breaches.length > 0) throw new Error(`call ${index} broke its contract: ${call.breaches}`);
      if (!call.closed) throw new Error(`call ${index} was never closed`);
    });
    if (this.arena.out !== 0) throw new Error(`${this.arena.out} blocks were not given back`);
  }

  #versionsOf(model: string): FakeVersion[] {
    return this.versions.filter((version) => version.model.spec.model === model);
  }

  #modelOf(call: FakeCall): FakeModel {
    const version = this.versions.find(({ model }) => model.spec === call.version.spec);
    if (!version) throw new Error('a work of an unknown version');
    return version.model;
  }

  #resultOf(work: FakeWork): WorkResult {
    if (this.failWith) return { ok: false, error: this.failWith };
    const { call, request, onPiece } = work;
    const model = this.#modelOf(call);
    const gathered = onPiece ? [STREAMED] : this.piecesOf(work);
    return {
      ok: true,
      variant: call.version.spec.variants[0]?.name ?? 'default',
      rung: 0,
      batchRows: request.rows,
      parts: model.stream ? gathered : this.#partsOf(model, request),
      timings: { queueMs: 0.5, batchMs: 0.25, preprocessMs: 0, inferMs: 2, postprocessMs: 0 },
    };
  }

  #partsOf(model: FakeModel, request: WorkRequest): readonly PartOutput[] {
    const inputs = this.#tensorsOf(request);
    if (request.want === 'answer') {
      const encoded = inputs[0]?.bytes ?? new Uint8Array(0);
      const json = new TextEncoder().encode(model.answer(encoded, request.parameters));
      return Array.from({ length: request.rows }, () => ({ kind: 'answer', json: json.slice() }));
    }
    const outputs = model.compute(inputs).map(unaligned);
    const step = this.partRows ?? request.rows;
    if (step >= request.rows) return [{ kind: 'tensors', rows: request.rows, outputs }];
    const parts: PartOutput[] = [];
    for (let first = 0; first < request.rows; first += step) {
      const rows = Math.min(step, request.rows - first);
      parts.push({ kind: 'tensors', rows, outputs: outputs.map((output) => slice(output, first, rows)) });
    }
    return parts;
  }

  #tensorsOf({ input }: WorkRequest): readonly FakeTensor[] {
    const view = (span: { offset: number; byteLength: number }) =>
      this.arena.bytes.subarray(span.offset, span.offset + span.byteLength);
    if (input.kind === 'encoded') return [{ bytes: view(input.span), shape: [] }];
    return input.tensors.map(({ span, shape }) => ({ bytes: view(span), shape }));
  }
}

function viewOf({ model, state, reason, statistics }: FakeVersion): VersionView {
  return {
    spec: model.spec,
    state,
    reason,
    profile: model.profile,
    maxRows: model.maxRows,
    variants: model.spec.variants.map(({ name }) => ({ name, state, runners: 1 })),
    statistics,
  };
}

/** A copy at an odd offset: outputs out of a frame have no alignment, and nothing may count on one. */
function unaligned({ bytes, shape }: FakeTensor): FakeTensor {
  const room = new Uint8Array(bytes.length + 3);
  room.set(bytes, 3);
  return { bytes: room.subarray(3), shape };
}

/** Rows of a tensor of fixed-size elements. */
function slice({ bytes, shape }: FakeTensor, first: number, rows: number): FakeTensor {
  const rowBytes = bytes.length / (shape[0] ?? 1);
  return {
    bytes: bytes.slice(first * rowBytes, (first + rows) * rowBytes),
    shape: [rows, ...shape.slice(1)],
  };
}
