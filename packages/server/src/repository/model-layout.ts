import { stat } from 'node:fs/promises';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { type FolderListing, listFolder } from './folder-files.ts';

const EXTENSION = '.onnx';
const VERSION_NAME = /^[1-9]\d{0,14}$/;
const MODEL_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/** The version of a model that has none on disk. */
const ONLY_VERSION = '1';

/** A model on disk, before anything in it has been read. Paths are absolute. */
export interface ModelLayout {
  readonly model: string;
  /** Folder in which model.yaml is looked for; undefined for a model that is one file. */
  readonly folder: string | undefined;
  readonly versions: readonly VersionLayout[];
}

export interface VersionLayout {
  readonly version: string;
  readonly folder: string;
  readonly onlyFile: string | undefined;
}

/** Something in the repository that can't be served, apart from the contents of versions. */
export interface LayoutProblem {
  readonly model: string;
  readonly version: string;
  /** Relative to the root. */
  readonly file: string;
  readonly expected: string;
  readonly got: string;
}

export interface RepositoryLayout {
  /** Absolute; nothing outside it is served. */
  readonly root: string;
  readonly models: readonly ModelLayout[];
  readonly problems: readonly LayoutProblem[];
  readonly notes: readonly string[];
}

/**
 * Finds models at a path: a repository `<name>/<version>/model.onnx` as the field's other servers have it, one model's
 * folder, one version's folder, or one bare .onnx file. Fails like the file system does when the path is not there.
 */
export async function findModels(path: string): Promise<RepositoryLayout> {
  const absolute = resolve(path);
  if ((await stat(absolute)).isFile()) {
    const root = dirname(absolute);
    return { root, models: [await bareFile(root, basename(absolute))], problems: [], notes: [] };
  }
  const listing = await listFolder(absolute);
  const versions = await versionsIn(absolute, listing);
  const name = basename(absolute);
  if (versions.length > 0) return one(absolute, { model: fileToModelName(name), folder: absolute, versions });
  if (await isVersionFolder(absolute, listing)) return one(absolute, flatModel(absolute));
  return await repository(absolute, listing);
}

/** Any file name as a model name: other characters become "-". */
export function fileToModelName(file: string): string {
  const cleaned = file.replace(/[^A-Za-z0-9._-]+/g, '-').replace(/^[^A-Za-z0-9]+|-+$/g, '');
  return cleaned === '' ? 'model' : cleaned.slice(0, 128);
}

function one(root: string, model: ModelLayout): RepositoryLayout {
  return { root, models: [model], problems: [], notes: [] };
}

/** The folder itself is the version: `digits/1` is version 1 of digits, `digits` is version 1 of digits too. */
function flatModel(folder: string): ModelLayout {
  const name = basename(folder);
  const isNumbered = VERSION_NAME.test(name);
  return {
    model: fileToModelName(isNumbered ? basename(dirname(folder)) : name),
    folder: isNumbered ? undefined : folder,
    versions: [{ version: isNumbered ? name : ONLY_VERSION, folder, onlyFile: undefined }],
  };
}

/** Files beside a bare model belong to it only when it is the one model of the folder. */
async function bareFile(root: string, file: string): Promise<ModelLayout> {
  const { files } = await listFolder(root);
  const isAlone = files.filter((name) => name.endsWith(EXTENSION)).length === 1 && file.endsWith(EXTENSION);
  const version = { version: ONLY_VERSION, folder: root, onlyFile: isAlone ? undefined : file };
  const folderName = basename(root);
  const isVersion = file === 'model.onnx' && VERSION_NAME.test(folderName);
  const model = fileToModelName(isVersion ? basename(dirname(root)) : basename(file, extname(file)));
  return { model, folder: undefined, versions: [isVersion ? { ...version, version: folderName } : version] };
}

async function repository(root: string, listing: FolderListing): Promise<RepositoryLayout> {
  const models: ModelLayout[] = [];
  const problems: LayoutProblem[] = [];
  const notes: string[] = [];
  if (listing.cut) notes.push('the folder has too many entries: not all were looked at');
  for (const name of listing.folders) {
    const folder = join(root, name);
    const inside = await listFolder(folder);
    const versions = await versionsIn(folder, inside);
    const isFlat = versions.length === 0 && inside.files.some((file) => file.endsWith(EXTENSION));
    const odd = await misnamedVersions(folder, inside);
    if (versions.length === 0 && !isFlat && odd.length === 0) {
      notes.push(`${name} holds no model and was left out`);
      continue;
    }
    if (!MODEL_NAME.test(name)) {
      const expected = 'a folder name of letters, digits, ".", "_" and "-", at most 128 long';
      problems.push({ model: name, version: '', file: name, expected, got: JSON.stringify(name) });
      continue;
    }
    problems.push(...odd.map((version) => misnamed(name, version)));
    if (inside.files.includes('config.pbtxt')) {
      notes.push(`${name}/config.pbtxt is Triton's and was not read: say what matters in version.yaml`);
    }
    const own = isFlat ? [{ version: ONLY_VERSION, folder, onlyFile: undefined }] : versions;
    if (own.length > 0) models.push({ model: name, folder, versions: own });
  }
  const bare = listing.files.filter((file) => file.endsWith(EXTENSION));
  for (const file of bare) addBare({ root, file, models, problems });
  return { root, models, problems, notes };
}

function addBare(place: {
  root: string;
  file: string;
  models: ModelLayout[];
  problems: LayoutProblem[];
}): void {
  const { root, file, models, problems } = place;
  const model = fileToModelName(basename(file, EXTENSION));
  if (models.some((other) => other.model === model)) {
    problems.push({
      model,
      version: ONLY_VERSION,
      file,
      expected: 'a name that no other model has',
      got: model,
    });
    return;
  }
  models.push({
    model,
    folder: undefined,
    versions: [{ version: ONLY_VERSION, folder: root, onlyFile: file }],
  });
}

function misnamed(model: string, version: string): LayoutProblem {
  const expected = 'a version number such as 1 as the folder’s name';
  return { model, version, file: `${model}/${version}`, expected, got: JSON.stringify(version) };
}

/** Numbered folders with something of a model inside, ascending. */
async function versionsIn(folder: string, listing: FolderListing): Promise<VersionLayout[]> {
  const versions: VersionLayout[] = [];
  for (const name of listing.folders) {
    if (!VERSION_NAME.test(name)) continue;
    const inside = join(folder, name);
    if (await holdsModel(inside)) versions.push({ version: name, folder: inside, onlyFile: undefined });
  }
  return versions.sort((left, right) => Number(left.version) - Number(right.version));
}

async function misnamedVersions(folder: string, listing: FolderListing): Promise<string[]> {
  const found: string[] = [];
  for (const name of listing.folders) {
    if (!VERSION_NAME.test(name) && (await holdsModel(join(folder, name)))) found.push(name);
  }
  return found;
}

async function holdsModel(folder: string): Promise<boolean> {
  try {
    const { files } = await listFolder(folder);
    return files.some((file) => file.endsWith(EXTENSION) || file === 'version.yaml');
  } catch {
    return false;
  }
}

/** Models directly inside, and nothing that says they are several. */
async function isVersionFolder(folder: string, { files, folders }: FolderListing): Promise<boolean> {
  const models = files.filter((file) => file.endsWith(EXTENSION));
  if (models.length === 0) return false;
  if (files.includes('version.yaml') || models.includes('model.onnx')) return true;
  if (models.length > 1) return false;
  for (const name of folders) {
    const inside = await listFolder(join(folder, name));
    const isModel = inside.files.some((file) => file.endsWith(EXTENSION));
    if (isModel || (await versionsIn(join(folder, name), inside)).length > 0) return false;
  }
  return true;
}
