import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';

/** Root of the checkout that these tools stand in. */
export const ROOT = join(import.meta.dirname, '..', '..');

/** Folders whose sources the house rules are about. */
export const SOURCE_FOLDERS = ['packages', 'bench', 'tests', 'tools', 'simulation'] as const;
const SKIPPED = new Set(['node_modules', 'dist', 'coverage', 'fixtures', 'generated', '.git']);

/** A TypeScript or JavaScript source. `path` is relative to the root, with forward slashes. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

export function readSourceFiles(root: string, folders: readonly string[] = SOURCE_FOLDERS): SourceFile[] {
  return folders
    .flatMap((folder) => filesBelow(join(root, folder)))
    .filter((path) => /\.(ts|mts|mjs|js|tsx)$/.test(path))
    .map((path) => ({
      path: relative(root, path).split(sep).join('/'),
      text: readFileSync(path, 'utf8'),
    }))
    .sort((left, right) => (left.path < right.path ? -1 : 1));
}

/** Folders below `folder`, relative to `root`, itself left out. */
export function readFolders(root: string, folder: string): string[] {
  return entriesOf(join(root, folder))
    .filter((entry) => entry.isDirectory() && !SKIPPED.has(entry.name))
    .flatMap((entry) => {
      const path = `${folder}/${entry.name}`;
      return [path, ...readFolders(root, path)];
    });
}

function filesBelow(folder: string): string[] {
  return entriesOf(folder)
    .filter((entry) => !SKIPPED.has(entry.name))
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      return entry.isDirectory() ? filesBelow(path) : [path];
    });
}

function entriesOf(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if ((error as { code?: string }).code === 'ENOENT') return [];
    throw error;
  }
}
