import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { CatalogueEntry, TensorSpec, VersionView } from '@gimbal/core';

/** Longest command that a person would still copy. */
const MAX_COMMAND_LENGTH = 400;

/** In the order in which they are shown: pictures say most at first sight. */
const ORDER = [
  'image-classification',
  'object-detection',
  'text-embedding',
  'text-classification',
  'tabular',
  'tensor',
];

/** Ready commands to try the served models with, one for each kind of task. */
export function curlCommands(
  http: string,
  entries: readonly CatalogueEntry[],
  { cwd, limit }: { cwd: string; limit: number },
): string[] {
  const views = entries.flatMap(({ versions }) =>
    versions.filter(({ state }) => state === 'ready').slice(-1),
  );
  const byTask = new Map<string, VersionView>();
  for (const view of views) if (!byTask.has(view.spec.task)) byTask.set(view.spec.task, view);
  return ORDER.flatMap((task) => {
    const view = byTask.get(task);
    const command = view === undefined ? undefined : commandFor(http, view, cwd);
    return command === undefined ? [] : [command];
  }).slice(0, limit);
}

function commandFor(http: string, { spec }: VersionView, cwd: string): string | undefined {
  const url = `${http}/v1/models/${encodeURIComponent(spec.model)}/predict`;
  switch (spec.task) {
    case 'image-classification':
      return `curl --data-binary @${picture(cwd, 'cat.jpg')} -H 'content-type: image/jpeg' ${url}`;
    case 'object-detection':
      return `curl --data-binary @${picture(cwd, 'face.jpg')} -H 'content-type: image/jpeg' ${url}`;
    case 'text-embedding':
    case 'text-classification':
      return `curl -d 'The weather is lovely today.' -H 'content-type: text/plain' ${url}`;
    case 'tabular':
    case 'tensor': {
      const body = JSON.stringify({ input: exampleInput(spec.signature.inputs, spec.task === 'tabular') });
      const command = `curl -d '${body}' -H 'content-type: application/json' ${url}`;
      return command.length <= MAX_COMMAND_LENGTH ? command : undefined;
    }
  }
}

/** A picture of the examples when it is at hand, else a name for the reader's own. */
function picture(cwd: string, file: string): string {
  const example = join('examples', 'inputs', file);
  return existsSync(join(cwd, example)) ? example : file;
}

/** Values that every numeric model takes: a row of ones, or one tensor for each input by name. */
function exampleInput(inputs: readonly TensorSpec[], isRow: boolean): unknown {
  if (isRow) return filled(inputs[0]?.shape.slice(1) ?? [], inputs[0]);
  return Object.fromEntries(inputs.map((input) => [input.name, filled(input.shape, input)]));
}

function filled(shape: readonly number[], tensor: TensorSpec | undefined): unknown {
  const [length, ...rest] = shape;
  if (length === undefined)
    return tensor?.datatype === 'BYTES' ? 'a' : tensor?.datatype === 'BOOL' ? true : 1;
  return Array.from({ length: length < 0 ? 1 : Math.min(length, MAX_COMMAND_LENGTH) }, () =>
    filled(rest, tensor),
  );
}
