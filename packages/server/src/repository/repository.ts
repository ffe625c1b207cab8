import { realpath } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { GimbalError } from '@gimbal/core';
import { checkDocument, type ModelFile, modelFileSchema } from '@gimbal/core/config';
import { containedPath } from './contained-path.ts';
import { FileDigests } from './file-digests.ts';
import { describeProblem, type FileProblem, toFieldError } from './file-problem.ts';
import { readSmallText } from './folder-files.ts';
import { findModels, type LayoutProblem, type ModelLayout, type RepositoryLayout } from './model-layout.ts';
import { readProcessorLimits } from './processor-limits.ts';
import { readVersion } from './version-folder.ts';
import type {
  ModelDeclaration,
  ReadingContext,
  RefusedVersion,
  VersionDefaults,
  VersionReading,
} from './version-source.ts';
import { MAX_YAML_BYTES, YamlDocument } from './yaml-document.ts';

const MODEL_FILE = 'model.yaml';
const NOTHING_DECLARED: ModelDeclaration = { declared: {}, problems: [] };

/** Everything found at a path: what can be served and what can't, each by itself. */
export interface RepositoryReading {
  /** Absolute folder that the files of problems are relative to. */
  readonly root: string;
  /** By model name, then by version, ascending. */
  readonly versions: readonly VersionReading[];
  /** Things that people should know and that stop nothing. */
  readonly notes: readonly string[];
}

/** A model repository on disk: one folder or file, read again whenever asked. */
export class Repository {
  readonly path: string;
  readonly #context: ReadingContext;

  constructor(path: string, defaults: VersionDefaults, cores = readProcessorLimits().cores) {
    this.path = path;
    this.#context = { defaults, cores, digests: new FileDigests() };
  }

  /**
   * Reads all models and versions. One that is wrong never hides another: each is told by itself. Fails with
   * MODEL_UNAVAILABLE only when the path itself can't be read.
   */
  async read(): Promise<RepositoryReading> {
    const layout = await this.#layout();
    const root = await realpath(layout.root);
    const versions: VersionReading[] = layout.problems.map(refusedLayout);
    const notes = [...layout.notes];
    for (const model of layout.models) {
      const reading = await this.#readModel(layout.root, root, model);
      versions.push(...reading);
      for (const version of reading) {
        if (version.ok)
          notes.push(...version.notes.map((note) => `${model.model}/${version.version}: ${note}`));
      }
    }
    return { root: layout.root, versions: versions.sort(byName), notes };
  }

  async #layout(): Promise<RepositoryLayout> {
    try {
      return await findModels(this.path);
    } catch (error) {
      const code = String((error as NodeJS.ErrnoException).code);
      throw new GimbalError(
        'MODEL_UNAVAILABLE',
        `Cannot read the model repository: it can't be opened, expected a folder of models or an .onnx file, got ${code}`,
        { cause: error },
      );
    }
  }

  async #readModel(shownRoot: string, root: string, layout: ModelLayout): Promise<VersionReading[]> {
    const declaration = await readDeclaration(shownRoot, root, layout);
    const read: VersionReading[] = [];
    for (const { version, folder, onlyFile } of servedVersions(layout, declaration.declared)) {
      const shownFolder = relative(shownRoot, folder);
      const source = { model: layout.model, version, root, folder, shownFolder, onlyFile };
      read.push(await readVersion(source, declaration, this.#context));
    }
    return read;
  }
}

function servedVersions({ versions }: ModelLayout, declared: ModelFile): ModelLayout['versions'] {
  const served = declared.versions ?? 'all';
  if (served === 'all') return versions;
  if (served === 'latest') return versions.slice(-1);
  return versions.filter(({ version }) => served.includes(Number(version)));
}

async function readDeclaration(
  shownRoot: string,
  root: string,
  layout: ModelLayout,
): Promise<ModelDeclaration> {
  if (layout.folder === undefined) return NOTHING_DECLARED;
  const shown = join(relative(shownRoot, layout.folder), MODEL_FILE);
  const contained = await containedPath(root, layout.folder, MODEL_FILE);
  if (!contained.ok) {
    if (contained.why === 'missing') return NOTHING_DECLARED;
    return wrongDeclaration([wholeFile(shown, 'a file inside the repository', 'a link out of it')]);
  }
  const read = await readSmallText(contained.path, MAX_YAML_BYTES);
  if (read.kind !== 'text') {
    const got = read.kind === 'unreadable' ? read.why : read.kind;
    return wrongDeclaration([wholeFile(shown, `a readable file of at most ${MAX_YAML_BYTES} bytes`, got)]);
  }
  const document = new YamlDocument(shown, read.text);
  if (document.problems.length > 0) return wrongDeclaration(document.problems);
  const checked = checkDocument(modelFileSchema, document.value);
  if (!checked.ok) return wrongDeclaration(document.problemsOf(checked));
  return { declared: checked.value, problems: unknownVersions(document, layout, checked.value) };
}

function unknownVersions(
  document: YamlDocument,
  { versions }: ModelLayout,
  declared: ModelFile,
): FileProblem[] {
  if (!Array.isArray(declared.versions)) return [];
  const numbers = versions.map(({ version }) => Number(version));
  return declared.versions.flatMap((number, index) =>
    numbers.includes(number)
      ? []
      : [
          document.locate({
            path: ['versions', index],
            at: 'value',
            expected: `one of the version folders ${numbers.join(', ')}`,
            got: String(number),
            hint: undefined,
          }),
        ],
  );
}

function wrongDeclaration(problems: readonly FileProblem[]): ModelDeclaration {
  return { declared: {}, problems };
}

function wholeFile(file: string, expected: string, got: string): FileProblem {
  return { file, line: undefined, column: undefined, field: '', expected, got, hint: undefined };
}

function refusedLayout({ model, version, file, expected, got }: LayoutProblem): RefusedVersion {
  const problem = wholeFile(file, expected, got);
  const shown = version === '' ? model : `${model} version ${version}`;
  const error = new GimbalError('MODEL_UNAVAILABLE', `Cannot load ${shown}: ${describeProblem(problem)}`, {
    fields: [toFieldError(problem)],
  });
  return { ok: false, model, version, error, problems: [problem] };
}

function byName(left: VersionReading, right: VersionReading): number {
  if (left.model !== right.model) return left.model < right.model ? -1 : 1;
  return Number(left.version) - Number(right.version);
}
