import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FIXTURES, ROOT } from './gimbal.ts';

/** A model folder of a test's own, copied from fixtures or examples, removed at the end. */
export class ModelFolder {
  readonly path: string;

  constructor(names: readonly string[] = []) {
    this.path = mkdtempSync(join(tmpdir(), 'gimbal-models-'));
    for (const name of names) this.add(name);
  }

  /** `digits-mlp` from the fixtures, or `examples/efficientnet` from the shipped examples. */
  add(name: string, as = name.replace('examples/', '')): void {
    const source = name.startsWith('examples/')
      ? join(ROOT, 'examples', 'models', name.slice('examples/'.length))
      : join(FIXTURES, 'models', name);
    cpSync(source, join(this.path, as), { recursive: true });
  }

  /** One file as a version's model. */
  addFile(file: string, as: string, version = '1'): void {
    mkdirSync(join(this.path, as, version), { recursive: true });
    cpSync(file, join(this.path, as, version, 'model.onnx'));
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}
