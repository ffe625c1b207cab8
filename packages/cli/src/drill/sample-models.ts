import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { starterFiles } from '../starter-folder.ts';

/** The model that is broken, and one beside it that must not notice. */
export const TARGET = 'target';
export const BYSTANDER = 'bystander';

export interface SampleOptions {
  /** A model's folder to take in place of the built-in one. */
  readonly model?: string;
  /** Two variants of the same model, so that there is a ladder. */
  readonly isLadder: boolean;
  /** Most rows in one batch: with slow runs it makes a capacity that a laptop can exceed. */
  readonly maxRows?: number;
}

/** A folder of two small models for a server of the drill's own; removed at its end. */
export class SampleModels {
  readonly path = mkdtempSync(join(tmpdir(), 'gimbal-drill-'));
  readonly #options: SampleOptions;

  constructor(options: SampleOptions) {
    this.#options = options;
    if (options.model === undefined) this.addVersion(TARGET, '1');
    else cpSync(options.model, join(this.models, TARGET), { recursive: true });
    this.addVersion(BYSTANDER, '1', { isLadder: false });
  }

  get models(): string {
    return join(this.path, 'models');
  }

  /** Writes a version of the built-in model; `model` in place of its file: one that can't be loaded. */
  addVersion(
    name: string,
    version: string,
    { isLadder, model }: { isLadder?: boolean; model?: Uint8Array } = {},
  ): void {
    const folder = join(this.models, name, version);
    mkdirSync(folder, { recursive: true });
    const bytes = model ?? builtInModel();
    const variants = ['int32', ...((isLadder ?? this.#options.isLadder) ? ['standby'] : [])];
    for (const variant of variants) writeFileSync(join(folder, `${variant}.onnx`), bytes);
    const rows = this.#options.maxRows;
    const lines = [
      'task: tensor',
      'variants:',
      ...variants.map((variant) => `  - { name: ${variant}, file: ${variant}.onnx }`),
      `runners: { count: ${name === TARGET ? 2 : 1}, threads: 1 }`,
      ...(rows === undefined || name !== TARGET ? [] : [`batching: { maxSize: ${rows} }`]),
    ];
    // Last: the folder counts as a version once it is complete.
    writeFileSync(join(folder, 'version.yaml'), `${lines.join('\n')}\n`);
  }

  removeVersion(name: string, version: string): void {
    rmSync(join(this.models, name, version), { recursive: true, force: true });
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

function builtInModel(): Uint8Array {
  const file = starterFiles().find(({ path }) => path.endsWith('.onnx'));
  if (!(file?.content instanceof Uint8Array)) throw new Error('the starter folder has a model');
  return file.content;
}
