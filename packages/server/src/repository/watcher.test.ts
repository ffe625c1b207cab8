import { appendFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import type { GimbalError } from '@gimbal/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Repository } from './repository.ts';
import { buildModel } from './testing/onnx-builder.ts';
import { SOME_DEFAULTS, TemporaryFolder } from './testing/temporary-folder.ts';
import { type RepositoryChange, RepositoryWatcher } from './watcher.ts';

const SETTLE_MS = 60;
const LIMIT_MS = 15_000;
const clock = { now: () => performance.now(), wallTimeMs: () => Date.now() };

interface WatchedOptions {
  readonly mode?: 'events' | 'poll';
  readonly scanIntervalMs?: number;
  readonly settleMs?: number;
}

/** A watcher and everything that it has told. */
class Watched {
  readonly told: RepositoryChange[] = [];
  readonly troubles: GimbalError[] = [];
  readonly watcher: RepositoryWatcher;
  readonly #repository: Repository;
  #onTold: () => void = () => {};

  constructor(
    path: string,
    { mode = 'events', scanIntervalMs = 60_000, settleMs = SETTLE_MS }: WatchedOptions = {},
  ) {
    this.#repository = new Repository(path, SOME_DEFAULTS, 1);
    this.watcher = new RepositoryWatcher({
      repository: this.#repository,
      clock,
      settleMs,
      scanIntervalMs,
      mode,
      onChanges: (changes) => {
        this.told.push(...changes);
        this.#onTold();
      },
      onTrouble: (error) => {
        this.troubles.push(error);
        this.#onTold();
      },
    });
  }

  async start(): Promise<void> {
    await this.watcher.start(await this.#repository.read());
  }

  /** `added m/1`. */
  get lines(): string[] {
    return this.told.map((change) => {
      const { model, version } = change.kind === 'removed' ? change : change.version;
      return `${change.kind} ${model}/${version}`;
    });
  }

  async until(condition: () => boolean): Promise<void> {
    if (condition()) return;
    await new Promise<void>((resolve, reject) => {
      const limit = setTimeout(() => reject(new Error(`told only: ${this.lines.join(', ')}`)), LIMIT_MS);
      this.#onTold = () => {
        if (!condition()) return;
        clearTimeout(limit);
        resolve();
      };
    });
  }
}

let folder: TemporaryFolder;
let watched: Watched;

beforeEach(() => {
  folder = new TemporaryFolder();
  folder.write('m/1/model.onnx', buildModel());
});

afterEach(async () => {
  await watched.watcher.close();
  folder.remove();
});

describe.each(['events', 'poll'] as const)('with %s', (mode) => {
  beforeEach(async () => {
    watched = new Watched(folder.path, { mode, scanIntervalMs: mode === 'poll' ? 100 : 60_000 });
    await watched.start();
  });

  it('new, changed and removed versions are told, each once', async () => {
    folder.write('m/2/model.onnx', buildModel());
    await watched.until(() => watched.told.length >= 1);
    folder.write('m/1/labels.txt', 'a\nb\nc\nd\n');
    await watched.until(() => watched.told.length >= 2);
    folder.remove('m/2');
    await watched.until(() => watched.told.length >= 3);
    folder.remove('m');
    await watched.until(() => watched.told.length >= 4);
    expect(watched.lines).toEqual(['added m/2', 'changed m/1', 'removed m/2', 'removed m/1']);
  });

  it('a broken version is refused, its mended self is a change, its neighbours stay', async () => {
    folder.write('m/2/model.onnx', 'nonsense');
    await watched.until(() => watched.told.length >= 1);
    folder.write('m/2/model.onnx', buildModel());
    await watched.until(() => watched.told.length >= 2);
    expect(watched.lines).toEqual(['refused m/2', 'changed m/2']);
  });
});

it('a model that is copied slowly is told once, whole', async () => {
  watched = new Watched(folder.path, { settleMs: 400 });
  await watched.start();
  const bytes = buildModel({ producer: 'x'.repeat(2_000) });
  const path = folder.write('slow/1/model.onnx', '');
  await new Promise<void>((resolve) => {
    let at = 0;
    const copy = (): void => {
      appendFileSync(path, bytes.subarray(at, at + 200));
      at += 200;
      if (at >= bytes.length) resolve();
      else setTimeout(copy, 50);
    };
    copy();
  });
  await watched.until(() => watched.lines.includes('added slow/1'));
  expect(watched.lines).toEqual(['added slow/1']);
});

it('a version that is renamed into place is told once', async () => {
  watched = new Watched(folder.path);
  await watched.start();
  folder.write('.staging/model.onnx', buildModel());
  renameSync(join(folder.path, '.staging'), join(folder.path, 'm', '2'));
  await watched.until(() => watched.told.length >= 1);
  expect(watched.lines).toEqual(['added m/2']);
});

it('a bare file that is replaced is a change', async () => {
  const path = folder.write('bare.onnx', buildModel());
  watched = new Watched(path);
  await watched.start();
  writeFileSync(`${path}.new`, buildModel({ producer: 'other' }));
  renameSync(`${path}.new`, path);
  await watched.until(() => watched.told.length >= 1);
  expect(watched.lines).toEqual(['changed bare/1']);
});

it('touching files and writing notes changes nothing', async () => {
  watched = new Watched(folder.path);
  await watched.start();
  folder.write('m/1/README.md', 'words');
  folder.write('m/1/model.onnx', buildModel());
  const reading = await watched.watcher.readNow();
  expect(reading.versions).toHaveLength(1);
  expect(watched.lines).toEqual([]);
});

it('a repository that vanishes is trouble, not the removal of its models', async () => {
  watched = new Watched(folder.path, { mode: 'poll', scanIntervalMs: 50 });
  await watched.start();
  folder.remove();
  await watched.until(() => watched.troubles.length > 0);
  expect(watched.lines).toEqual([]);
});

it('readNow tells at once, without waiting for quiet', async () => {
  watched = new Watched(folder.path, { mode: 'poll', scanIntervalMs: 3_600_000 });
  await watched.start();
  folder.write('n/1/model.onnx', buildModel());
  await watched.watcher.readNow();
  expect(watched.lines).toEqual(['added n/1']);
});

it('nothing is told after close', async () => {
  watched = new Watched(folder.path);
  await watched.start();
  await watched.watcher.close();
  folder.write('n/1/model.onnx', buildModel());
  await watched.watcher.readNow();
  expect(watched.lines).toEqual([]);
});
