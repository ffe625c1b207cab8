import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { nearestName } from '@gimbal/core';
import { EXIT } from './exit-code.ts';
import { Failure } from './failure.ts';

/** Neighbours that are looked at for a name that was misspelt. */
const MAX_NEIGHBOURS = 1_000;

const EXPECTED = 'a folder of models (<name>/<version>/model.onnx), a model, or an .onnx file';

/** Where models are looked for, and for which verb. */
export interface ModelsPlace {
  /** Absolute. */
  readonly path: string;
  readonly cwd: string;
  readonly verb: 'serve' | 'check';
}

/** As short as it can be said: relative to where the command was given, unless that leads out of it. */
export function shownPath(path: string, cwd: string): string {
  const shown = relative(cwd, path);
  return shown.startsWith('..') ? path : shown || '.';
}

/** Fails with exit code 3 when there is nothing at the path. */
export function requireModelsPath(place: ModelsPlace): void {
  const { path, cwd, verb } = place;
  if (existsSync(path)) return;
  const near = nearestName(basename(path), neighboursOf(path));
  throw new Failure(EXIT.invalid, 'Cannot read the models: there is nothing at this path', {
    where: shownPath(path, cwd),
    expected: EXPECTED,
    got: 'no such file or folder',
    fix: near === undefined ? 'gimbal init' : `gimbal ${verb} ${shownPath(join(dirname(path), near), cwd)}`,
  });
}

/** No model was found at a path that is there. A folder that `gimbal init` made has them one folder deeper. */
export function noModels({ path, cwd, verb }: ModelsPlace): Failure {
  const inner = join(path, 'models');
  const isDeeper = existsSync(inner);
  return new Failure(EXIT.invalid, 'Cannot find a model', {
    where: shownPath(path, cwd),
    expected: EXPECTED,
    got: isDeeper ? `a folder with a folder of models in it, ${shownPath(inner, cwd)}` : 'none',
    fix: isDeeper ? `gimbal ${verb} ${shownPath(inner, cwd)}` : 'gimbal init',
  });
}

function neighboursOf(path: string): string[] {
  try {
    return readdirSync(dirname(path)).slice(0, MAX_NEIGHBOURS);
  } catch {
    return [];
  }
}
