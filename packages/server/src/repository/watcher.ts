import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type Clock, type GimbalError, type Instant, toGimbalError } from '@gimbal/core';
import { type FSWatcher, watch } from 'chokidar';
import { fingerprint } from './fingerprint.ts';
import type { Repository, RepositoryReading } from './repository.ts';
import { Settling } from './settling.ts';
import type { ReadVersion, RefusedVersion, VersionReading } from './version-source.ts';

const WATCHED_DEPTH = 4;

/** What differs between two readings of the repository. */
export type RepositoryChange =
  | { readonly kind: 'added'; readonly version: ReadVersion }
  /** The same model and version number with another digest. */
  | { readonly kind: 'changed'; readonly version: ReadVersion }
  | { readonly kind: 'removed'; readonly model: string; readonly version: string }
  /** On disk but unusable; whatever was loaded before may stay. */
  | { readonly kind: 'refused'; readonly version: RefusedVersion };

export interface WatcherOptions {
  readonly repository: Repository;
  readonly clock: Clock;
  readonly settleMs: number;
  /** A full look although nothing was reported, for file systems that report nothing. */
  readonly scanIntervalMs: number;
  /** `poll`: no change reports at all, only the interval. */
  readonly mode: 'events' | 'poll';
  /** Called with at least one change. */
  onChanges(changes: readonly RepositoryChange[], reading: RepositoryReading): void;
  /** The repository can't be read now (unmounted, no permission). Nothing is taken for removed then. */
  onTrouble(error: GimbalError): void;
}

/**
 * Watches a repository and tells what was added, changed or removed, once the files have been quiet for the settle
 * time. Reports of the operating system only hurry the next look; what counts is what is on disk.
 */
export class RepositoryWatcher {
  readonly #options: WatcherOptions;
  readonly #settling: Settling;
  #known: ReadonlyMap<string, VersionReading> = new Map();
  #watcher: FSWatcher | undefined;
  #timer: NodeJS.Timeout | undefined;
  #timerDue: Instant = Number.POSITIVE_INFINITY;
  #looking: Promise<void> | undefined;
  #lookAgain = false;
  #closed = false;
  #troubled = false;

  constructor(options: WatcherOptions) {
    this.#options = options;
    this.#settling = new Settling(options.settleMs);
  }

  /** Begins with what the host has already read and taken. Resolves once changes will be noticed. */
  async start(reading: RepositoryReading): Promise<void> {
    this.#known = byKey(reading);
    this.#schedule(this.#options.settleMs);
    if (this.#options.mode === 'poll') return;
    const { path } = this.#options.repository;
    const isFile = await stat(path).then(
      (found) => found.isFile(),
      () => false,
    );
    // A single file is replaced by renaming another over it, which only its folder sees.
    const watcher = watch(isFile ? dirname(path) : path, {
      ignoreInitial: true,
      depth: isFile ? 0 : WATCHED_DEPTH,
      ignorePermissionErrors: true,
    });
    this.#watcher = watcher;
    watcher.on('all', () => this.#schedule(this.#options.settleMs));
    // Too many watches, or a file system without them: the interval remains.
    watcher.on('error', (error) => this.#options.onTrouble(toGimbalError(error)));
    await new Promise<void>((resolve) => {
      watcher.once('ready', () => resolve());
      watcher.once('error', () => resolve());
    });
  }

  /** Reads the repository now, settled or not: somebody asked for it. Resolves with what was found. */
  async readNow(): Promise<RepositoryReading> {
    await this.#looking;
    const print = await fingerprint(this.#options.repository.path);
    const reading = await this.#options.repository.read();
    this.#settling.take(print);
    this.#tell(reading);
    return reading;
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#watcher?.close();
    await this.#looking;
  }

  /** The earlier of two looks wins: a busy folder is still looked at once for each settle time. */
  #schedule(delayMs: number): void {
    if (this.#closed) return;
    if (this.#looking !== undefined) this.#lookAgain = true;
    const due = this.#options.clock.now() + delayMs;
    if (due >= this.#timerDue) return;
    clearTimeout(this.#timer);
    this.#timerDue = due;
    this.#timer = setTimeout(() => {
      this.#timerDue = Number.POSITIVE_INFINITY;
      this.#looking ??= this.#look().finally(() => {
        this.#looking = undefined;
        this.#schedule(this.#lookAgain ? this.#options.settleMs : this.#options.scanIntervalMs);
        this.#lookAgain = false;
      });
    }, delayMs);
    this.#timer.unref();
  }

  async #look(): Promise<void> {
    try {
      const print = await fingerprint(this.#options.repository.path);
      const { readable, waitMs } = this.#settling.look(print, this.#options.clock.now());
      if (waitMs !== undefined) this.#lookAgain = true;
      if (readable) {
        const reading = await this.#options.repository.read();
        // Written to while it was read: what was read may be half of each, so wait for the next quiet.
        if ((await fingerprint(this.#options.repository.path)) !== print) this.#lookAgain = true;
        else {
          this.#settling.take(print);
          this.#tell(reading);
        }
      }
      this.#troubled = false;
    } catch (error) {
      if (!this.#troubled) this.#options.onTrouble(toGimbalError(error));
      this.#troubled = true;
    }
  }

  #tell(reading: RepositoryReading): void {
    const next = byKey(reading);
    const changes = changesBetween(this.#known, next);
    this.#known = next;
    if (changes.length > 0 && !this.#closed) this.#options.onChanges(changes, reading);
  }
}

/** What turns one reading into the next. A version that is refused is not removed: what is loaded may serve on. */
export function changesBetween(
  before: ReadonlyMap<string, VersionReading>,
  after: ReadonlyMap<string, VersionReading>,
): RepositoryChange[] {
  const changes: RepositoryChange[] = [];
  for (const [key, version] of after) {
    const old = before.get(key);
    if (!version.ok) {
      if (old === undefined || old.ok || old.error.message !== version.error.message) {
        changes.push({ kind: 'refused', version });
      }
    } else if (old === undefined) changes.push({ kind: 'added', version });
    else if (!old.ok || old.spec.digest !== version.spec.digest) changes.push({ kind: 'changed', version });
  }
  for (const [key, { model, version }] of before) {
    if (!after.has(key)) changes.push({ kind: 'removed', model, version });
  }
  return changes;
}

export function byKey(reading: RepositoryReading): ReadonlyMap<string, VersionReading> {
  return new Map(reading.versions.map((version) => [`${version.model}/${version.version}`, version]));
}
