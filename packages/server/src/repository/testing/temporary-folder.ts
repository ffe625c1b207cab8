import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { VersionDefaults } from '../version-source.ts';

export const FIXTURE_MODELS = join(import.meta.dirname, '../../../../../tests/fixtures/models');
export const BROKEN_MODELS = join(import.meta.dirname, '../../../../../tests/fixtures/samples/broken-models');
export const EXAMPLE_MODELS = join(import.meta.dirname, '../../../../../examples/models');

/** Defaults as a configuration that says nothing gives them. */
export const SOME_DEFAULTS: VersionDefaults = {
  batching: { maxSize: 'auto', maxDelayMs: 5, preferredSizes: [] },
  runners: { count: 1, threads: 'auto', spare: 0, recycleBatches: 0, recycleAgeMs: 0, recycleGrowthBytes: 0 },
  deadlineMs: 10_000,
};

/** A folder of a test's own. */
export class TemporaryFolder {
  readonly path = realpathSync(mkdtempSync(join(tmpdir(), 'gimbal-repository-')));

  /** Writes a file with all folders above it. */
  write(file: string, content: string | Uint8Array): string {
    const path = join(this.path, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
    return path;
  }

  /** Copies a fixture model: `add-sub` to `<as>/1/…`. */
  addModel(name: string, as = name): void {
    cpSync(join(FIXTURE_MODELS, name), join(this.path, as), { recursive: true });
  }

  link(file: string, target: string): void {
    const path = join(this.path, file);
    mkdirSync(dirname(path), { recursive: true });
    symlinkSync(target, path);
  }

  remove(file = ''): void {
    rmSync(join(this.path, file), { recursive: true, force: true });
  }
}
