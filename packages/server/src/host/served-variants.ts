import {
  type Clock,
  type CostProfile,
  GimbalError,
  type PoolEvents,
  type PoolNotice,
  type RunnerEnd,
  type RunnerPlace,
  type RunnerPool,
  type RunnerReady,
  type VariantSpec,
  type VersionSpec,
  type VersionState,
  type VersionView,
} from '@gimbal/core';
import type { Arena } from '../transport/arena.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { LoadGate } from './load-gate.ts';

/** Makes the runners of one variant. */
export type PoolFactory = (request: {
  spec: VersionSpec;
  variant: VariantSpec;
  rung: number;
  arena: Arena;
  events: PoolEvents;
}) => RunnerPool;

/** What happened to the runners of a version, for the log. */
export type RunnerNotice =
  | { readonly kind: 'ready'; readonly variant: string; readonly runner: string; readonly device: string }
  | { readonly kind: 'retiring'; readonly variant: string; readonly runner: string }
  | {
      readonly kind: 'lost';
      readonly variant: string;
      readonly runner: string;
      readonly error: GimbalError;
      readonly end: RunnerEnd | undefined;
    }
  | { readonly kind: 'told'; readonly variant: string; readonly notice: PoolNotice }
  | { readonly kind: 'faulted'; readonly variant: string; readonly error: GimbalError }
  | { readonly kind: 'recovered'; readonly variant: string };

export interface ServedVariantsOptions {
  /** Unique for each load: a reload of the same version has another. */
  readonly key: string;
  readonly spec: VersionSpec;
  readonly arena: Arena;
  readonly dispatcher: Pick<
    Dispatcher,
    'runnerReady' | 'runnerRetiring' | 'runnerLost' | 'batchReported' | 'pieceReported' | 'faulted'
  >;
  readonly clock: Clock;
  readonly createPool: PoolFactory;
  readonly loadGate: LoadGate;
  readonly onNotice: (spec: VersionSpec, notice: RunnerNotice) => void;
}

interface Variant {
  readonly spec: VariantSpec;
  readonly pool: RunnerPool;
  /** `loading` until its first runner is ready or it has failed. */
  state: 'loading' | 'ready' | 'unavailable';
  fault: GimbalError | undefined;
  device: string;
  /** Lets the next variant load. */
  leaveGate: () => void;
}

/** The variants of a loaded version with their runners: what they are ready for decides the version's state. */
export class ServedVariants {
  readonly pools: readonly RunnerPool[];
  /** Resolves when the version can answer; rejects with the reason when no variant can be loaded. */
  readonly loaded: Promise<void>;
  readonly startedAt: number;
  /** Set by the first runner that is ready. */
  loadMs = 0;
  #spec: VersionSpec;
  #state: VersionState = 'loading';
  #profile: CostProfile | undefined;
  readonly #options: ServedVariantsOptions;
  readonly #variants: Variant[];
  #resolveLoaded: () => void = () => {};
  #rejectLoaded: (error: GimbalError) => void = () => {};

  constructor(options: ServedVariantsOptions) {
    this.#options = options;
    this.#spec = options.spec;
    this.startedAt = options.clock.now();
    this.loaded = new Promise((resolve, reject) => {
      this.#resolveLoaded = resolve;
      this.#rejectLoaded = reject;
    });
    // A failed load is also told by state and reason: nobody has to wait for the promise.
    this.loaded.catch(() => {});
    this.#variants = options.spec.variants.map((spec, rung) => this.#create(spec, rung));
    this.pools = this.#variants.map((variant) => variant.pool);
  }

  /** With the signature that the runner confirmed. */
  get spec(): VersionSpec {
    return this.#spec;
  }

  get state(): VersionState {
    return this.#state;
  }

  /** Of the best variant. */
  get profile(): CostProfile | undefined {
    return this.#profile;
  }

  get reason(): string | undefined {
    if (this.#state !== 'unavailable') return undefined;
    return this.#variants.find((variant) => variant.fault !== undefined)?.fault?.message;
  }

  get views(): VersionView['variants'] {
    return this.#variants.map(({ spec, state, pool }) => ({
      name: spec.name,
      state: this.#state === 'unloading' ? 'unloading' : state,
      runners: pool.views.length,
    }));
  }

  start(): void {
    for (const variant of this.#variants) {
      this.#options.loadGate.enter((leave) => {
        if (this.#state === 'unloading') {
          leave();
          return;
        }
        variant.leaveGate = leave;
        variant.pool.start();
      });
    }
  }

  /** Nothing more becomes ready; whoever waits for the load is told. */
  unload(): void {
    this.#state = 'unloading';
    this.#rejectLoaded(
      new GimbalError('MODEL_UNAVAILABLE', `Cannot load ${this.#spec.model}: it was unloaded meanwhile`),
    );
    for (const variant of this.#variants) variant.leaveGate();
  }

  #create(spec: VariantSpec, rung: number): Variant {
    const { arena, createPool } = this.#options;
    const events = this.#events(rung);
    const pool = createPool({ spec: this.#spec, variant: spec, rung, arena, events });
    return { spec, pool, state: 'loading', fault: undefined, device: 'cpu', leaveGate: () => {} };
  }

  #events(rung: number): PoolEvents {
    const { dispatcher } = this.#options;
    const place = (runnerId: string): RunnerPlace => ({ version: this.#options.key, rung, runnerId });
    const variant = this.#spec.variants[rung]?.name ?? '';
    const tell = (notice: RunnerNotice): void => this.#options.onNotice(this.#spec, notice);
    return {
      onReady: (id, ready) => {
        tell({ kind: 'ready', variant, runner: id, device: ready.device });
        this.#runnerReady(place(id), ready);
      },
      onRetiring: (id) => {
        tell({ kind: 'retiring', variant, runner: id });
        dispatcher.runnerRetiring(place(id));
      },
      onLost: (id, error, end) => {
        tell({ kind: 'lost', variant, runner: id, error, end });
        dispatcher.runnerLost(place(id), { error, cause: end?.cause ?? 'crashed' });
      },
      onNotice: (notice) => tell({ kind: 'told', variant, notice }),
      onReport: (id, batchId, report) => dispatcher.batchReported(place(id), batchId, report),
      onPiece: (id, batchId, piece) => dispatcher.pieceReported(place(id), batchId, piece),
      onFault: (error) => {
        tell(error ? { kind: 'faulted', variant, error } : { kind: 'recovered', variant });
        this.#faulted(rung, error);
      },
    };
  }

  #runnerReady(place: RunnerPlace, ready: RunnerReady): void {
    const variant = this.#variants[place.rung];
    if (!variant || this.#state === 'unloading') return;
    variant.state = 'ready';
    variant.fault = undefined;
    variant.device = ready.device;
    variant.leaveGate();
    if (place.rung === 0 || !this.#profile) {
      this.#profile = ready.profile;
      this.#spec = { ...this.#spec, signature: ready.signature };
    }
    const profile =
      this.#spec.signature.batchAxis === 'none' ? { ...ready.profile, bestRows: 1 } : ready.profile;
    this.#options.dispatcher.runnerReady(place, profile);
    this.#review();
  }

  #faulted(rung: number, error: GimbalError | undefined): void {
    const variant = this.#variants[rung];
    if (!variant || this.#state === 'unloading') return;
    variant.fault = error;
    variant.leaveGate();
    if (error) variant.state = 'unavailable';
    this.#options.dispatcher.faulted({ version: this.#options.key, rung }, error);
    this.#review();
  }

  /** The version's state from its variants': ready once all have been tried and one works. */
  #review(): void {
    const states = this.#variants.map((variant) => variant.state);
    if (this.#state === 'loading' && states.includes('loading')) return;
    if (states.includes('ready')) {
      if (this.#state === 'loading') this.loadMs = this.#options.clock.now() - this.startedAt;
      this.#state = 'ready';
      this.#resolveLoaded();
    } else if (states.every((state) => state === 'unavailable')) {
      this.#state = 'unavailable';
      const fault = this.#variants[0]?.fault;
      this.#rejectLoaded(fault ?? new GimbalError('MODEL_UNAVAILABLE', `Cannot load ${this.#spec.model}`));
    }
  }
}
