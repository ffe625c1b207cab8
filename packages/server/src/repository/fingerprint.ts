import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { listFolder } from './folder-files.ts';

/** `<name>/<version>/<folder>/file`: deeper files belong to no version. */
const MAX_DEPTH = 4;
const MAX_FILES = 50_000;

/** Names, sizes, times and identities of all files below a path as one text: equal texts, equal files. */
export async function fingerprint(path: string): Promise<string> {
  const hash = createHash('sha256');
  const budget = { files: MAX_FILES };
  await addPath(path, { hash, budget, depth: 0 });
  return hash.digest('hex');
}

interface Walk {
  readonly hash: ReturnType<typeof createHash>;
  readonly budget: { files: number };
  readonly depth: number;
}

async function addPath(path: string, walk: Walk): Promise<void> {
  walk.budget.files -= 1;
  if (walk.budget.files < 0) return;
  let found: Awaited<ReturnType<typeof stat>>;
  try {
    found = await stat(path);
  } catch (error) {
    // Only the root must be there: everything below may vanish between two looks.
    if (walk.depth === 0) throw error;
    return;
  }
  if (!found.isDirectory()) {
    walk.hash.update(`${path}\0${found.size}\0${found.mtimeMs}\0${found.ino}\n`);
    return;
  }
  if (walk.depth >= MAX_DEPTH) return;
  walk.hash.update(`${path}/\n`);
  const { files, folders } = await listFolder(path);
  for (const name of [...files, ...folders])
    await addPath(join(path, name), { ...walk, depth: walk.depth + 1 });
}
