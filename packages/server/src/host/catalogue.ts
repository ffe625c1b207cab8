import {
  type Call,
  type CallContext,
  type CatalogueEntry,
  GimbalError,
  type InferencePort,
  nearestName,
  type VersionSpec,
  type VersionView,
} from '@gimbal/core';
import type { VersionReading } from '../repository/version-source.ts';
import type { RepositoryChange } from '../repository/watcher.ts';
import { ServedVersion } from './served-version.ts';

/** What clients are told to wait for a model that is loading, when no load of it has been timed. */
const USUAL_LOAD_MS = 2_000;

/** All that the catalogue holds of one model. */
interface Model {
  readonly name: string;
  /** By version; what requests are routed to. */
  readonly serving: Map<string, ServedVersion>;
  /** Loading beside a serving one of the same version, to take its place. */
  readonly replacing: Map<string, ServedVersion>;
  /** Versions that can't be read from disk. */
  readonly failures: Map<string, string>;
  /** Taken out by hand: the folder is ignored until somebody loads it again. */
  unloaded: boolean;
  /** The latest ready version, for requests that name none. */
  current: ServedVersion | undefined;
}

export interface CatalogueEvents {
  onLoading(spec: VersionSpec): void;
  onReady(version: ServedVersion): void;
  onFailed(place: { model: string; version: string }, error: GimbalError): void;
  onRetired(spec: VersionSpec): void;
}

export interface CatalogueOptions {
  /** Makes a version with its memory and runner pools; not started yet. */
  readonly create: (spec: VersionSpec) => ServedVersion;
  /** Reads the repository again, now; changes arrive through `apply`. */
  readonly reread: () => Promise<readonly VersionReading[]>;
  readonly required: readonly string[];
  readonly retireGraceMs: number;
  readonly events: CatalogueEvents;
}

/** Which models and versions are served: routing by name, loading, replacing, unloading. */
export class Catalogue implements InferencePort {
  readonly #options: CatalogueOptions;
  readonly #models = new Map<string, Model>();
  readonly #retiring = new Set<Promise<void>>();
  /** Every model that was there at start has been loaded or has told why not. */
  #started = false;
  #draining = false;
  /** What is being ended: a second call shortens its time. */
  #stopping: readonly ServedVersion[] | undefined;

  constructor(options: CatalogueOptions) {
    this.#options = options;
  }

  /** The first reading of the repository; resolves when every version is ready or has failed. */
  async start(readings: readonly VersionReading[]): Promise<void> {
    for (const reading of readings) this.#take(reading);
    await Promise.allSettled(this.#versions().map((version) => version.loaded));
    this.#started = true;
  }

  /** What the watcher found. */
  apply(changes: readonly RepositoryChange[]): void {
    for (const change of changes) {
      if (change.kind === 'removed') this.#removed(change.model, change.version);
      else if (!this.#model(change.version.model).unloaded) this.#take(change.version);
    }
  }

  drain(): void {
    this.#draining = true;
  }

  /** Ends everything; resolves when no runner is left. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping ??= this.#versions();
    this.#models.clear();
    await Promise.all([...this.#stopping.map((version) => version.retire(graceMs)), ...this.#retiring]);
  }

  /** Every version that is loaded or loading. */
  served(): readonly ServedVersion[] {
    return this.#versions();
  }

  // InferencePort

  get ready(): boolean {
    if (this.#draining) return false;
    const { required } = this.#options;
    if (required.length > 0)
      return required.every((name) => this.#models.get(name)?.current?.state === 'ready');
    return this.#started;
  }

  get draining(): boolean {
    return this.#draining;
  }

  catalogue(): readonly CatalogueEntry[] {
    return [...this.#models.values()]
      .sort((left, right) => (left.name < right.name ? -1 : 1))
      .map((model) => ({
        model: model.name,
        versions: ascending(model),
        failures: [...model.failures].map(([version, reason]) => ({ version, reason })),
      }));
  }

  resolve(name: string, version: string | undefined): VersionView {
    const model = this.#models.get(name);
    if (model && version === undefined) {
      if (model.current?.state !== 'ready') this.#refresh(model);
      if (model.current) return model.current;
    }
    const found = this.find(name, version);
    switch (found.state) {
      case 'ready':
        return found;
      case 'loading':
        throw loading(found as ServedVersion);
      case 'unloading':
        throw new GimbalError('MODEL_UNAVAILABLE', `Cannot run "${name}": it is being unloaded`, {
          retryAfterMs: USUAL_LOAD_MS,
        });
      case 'unavailable':
        throw new GimbalError(
          'MODEL_UNAVAILABLE',
          found.reason ?? `Cannot run "${name}": no variant can be loaded`,
          {
            retryAfterMs: USUAL_LOAD_MS,
          },
        );
    }
  }

  find(name: string, version: string | undefined): VersionView {
    const model = this.#models.get(name);
    if (!model) throw this.#modelNotFound(name);
    if (version !== undefined) {
      const found = model.serving.get(version);
      if (found) return found;
      throw versionNotFound(model, version);
    }
    const found = model.current ?? ascending(model).at(-1);
    if (found) return found;
    throw nothingServed(model);
  }

  open(version: VersionView, context: CallContext): Call {
    if (!(version instanceof ServedVersion))
      throw new GimbalError('INTERNAL', 'Cannot run: not a version of this server');
    return version.open(context);
  }

  async load(name: string): Promise<void> {
    const readings = (await this.#options.reread()).filter((reading) => reading.model === name);
    if (readings.length === 0) throw this.#modelNotFound(name);
    const model = this.#model(name);
    model.unloaded = false;
    for (const reading of readings) if (!this.#isServed(model, reading)) this.#take(reading);
    await this.#settled(model, readings);
  }

  /** Loads anew what is on disk, also where nothing has changed. */
  async reload(name: string): Promise<void> {
    const readings = (await this.#options.reread()).filter((reading) => reading.model === name);
    if (readings.length === 0) throw this.#modelNotFound(name);
    const model = this.#model(name);
    model.unloaded = false;
    for (const reading of readings) this.#take(reading);
    await this.#settled(model, readings);
  }

  async unload(name: string): Promise<void> {
    const model = this.#models.get(name);
    if (!model) throw this.#modelNotFound(name);
    model.unloaded = true;
    for (const version of [...model.serving.keys(), ...model.replacing.keys()]) this.#drop(model, version);
  }

  async #settled(model: Model, readings: readonly VersionReading[]): Promise<void> {
    for (const reading of readings) {
      if (!reading.ok) throw reading.error;
      const version = model.replacing.get(reading.version) ?? model.serving.get(reading.version);
      await version?.loaded;
    }
  }

  #isServed(model: Model, reading: VersionReading): boolean {
    if (!reading.ok) return false;
    const { digest } = reading.spec;
    const same = (version: ServedVersion | undefined): boolean =>
      version?.spec.digest === digest && version.state !== 'unavailable';
    return same(model.replacing.get(reading.version)) || same(model.serving.get(reading.version));
  }

  /** Takes what is on disk in: loads it, beside what serves now when the version is served already. */
  #take(reading: VersionReading): void {
    const model = this.#model(reading.model);
    if (!reading.ok) {
      model.failures.set(reading.version, reading.error.message);
      this.#options.events.onFailed(reading, reading.error);
      return;
    }
    model.failures.delete(reading.version);
    this.#options.events.onLoading(reading.spec);
    const next = this.#options.create(reading.spec);
    const serving = model.serving.get(reading.version);
    if (serving && serving.state === 'ready') {
      this.#retire(model.replacing.get(reading.version));
      model.replacing.set(reading.version, next);
    } else {
      this.#retire(serving);
      model.serving.set(reading.version, next);
    }
    next.loaded.then(
      () => this.#loaded(model, next),
      (error: GimbalError) => this.#failed(model, next, error),
    );
    next.start();
  }

  #loaded(model: Model, version: ServedVersion): void {
    const name = version.spec.version;
    if (model.replacing.get(name) === version) {
      model.replacing.delete(name);
      const old = model.serving.get(name);
      model.serving.set(name, version);
      this.#refresh(model);
      this.#retire(old);
    }
    this.#refresh(model);
    this.#options.events.onReady(version);
  }

  /** A replacement that can't be loaded goes; what serves stays. A first load stays to tell its reason. */
  #failed(model: Model, version: ServedVersion, error: GimbalError): void {
    if (version.state === 'unloading') return;
    const name = version.spec.version;
    if (model.replacing.get(name) === version) {
      model.replacing.delete(name);
      model.failures.set(name, error.message);
      this.#retire(version);
    }
    this.#options.events.onFailed({ model: model.name, version: name }, error);
  }

  #removed(name: string, version: string): void {
    const model = this.#models.get(name);
    if (!model) return;
    model.failures.delete(version);
    this.#drop(model, version);
    if (model.serving.size === 0 && model.failures.size === 0 && !model.unloaded) this.#models.delete(name);
  }

  #drop(model: Model, version: string): void {
    const dropped = [model.serving.get(version), model.replacing.get(version)];
    model.serving.delete(version);
    model.replacing.delete(version);
    this.#refresh(model);
    for (const one of dropped) this.#retire(one);
  }

  #retire(version: ServedVersion | undefined): void {
    if (!version) return;
    const done = version.retire(this.#options.retireGraceMs).then(() => {
      this.#retiring.delete(done);
      this.#options.events.onRetired(version.spec);
    });
    this.#retiring.add(done);
  }

  #refresh(model: Model): void {
    model.current = ascending(model)
      .filter((version) => version.state === 'ready')
      .at(-1);
  }

  #model(name: string): Model {
    let model = this.#models.get(name);
    if (!model) {
      model = {
        name,
        serving: new Map(),
        replacing: new Map(),
        failures: new Map(),
        unloaded: false,
        current: undefined,
      };
      this.#models.set(name, model);
    }
    return model;
  }

  #versions(): ServedVersion[] {
    return [...this.#models.values()].flatMap((model) => [
      ...model.serving.values(),
      ...model.replacing.values(),
    ]);
  }

  #modelNotFound(name: string): GimbalError {
    const near = nearestName(name, this.#models.keys());
    const names = [...this.#models.keys()].sort().join(', ');
    const hint = near ? `did you mean "${near}"?` : `served: ${names || 'none'}`;
    return new GimbalError('MODEL_NOT_FOUND', `Cannot find model "${name.slice(0, 128)}": ${hint}`);
  }
}

function ascending(model: Model): ServedVersion[] {
  return [...model.serving.values()].sort(
    (left, right) => Number(left.spec.version) - Number(right.spec.version),
  );
}

function loading(version: ServedVersion): GimbalError {
  const estimateMs = USUAL_LOAD_MS;
  return new GimbalError('MODEL_LOADING', `Cannot run "${version.spec.model}" yet: it is loading`, {
    retryAfterMs: estimateMs,
    extra: { estimated_seconds: estimateMs / 1000 },
  });
}

function versionNotFound(model: Model, version: string): GimbalError {
  const reason = model.failures.get(version);
  if (reason !== undefined)
    return new GimbalError('MODEL_UNAVAILABLE', reason, { retryAfterMs: USUAL_LOAD_MS });
  const served = ascending(model).map((one) => one.spec.version);
  return new GimbalError(
    'VERSION_NOT_FOUND',
    `Cannot find version "${version.slice(0, 64)}" of "${model.name}": served: ${served.join(', ') || 'none'}`,
  );
}

function nothingServed(model: Model): GimbalError {
  const reason = [...model.failures.values()].at(-1);
  const why = model.unloaded ? 'it has been unloaded' : 'no version of it can be loaded';
  return new GimbalError('MODEL_UNAVAILABLE', reason ?? `Cannot run "${model.name}": ${why}`, {
    retryAfterMs: USUAL_LOAD_MS,
  });
}
