import { realpath } from 'node:fs/promises';
import { isAbsolute, join, relative, sep } from 'node:path';

export type ContainedPath =
  | { readonly ok: true; readonly path: string }
  | { readonly ok: false; readonly why: 'outside' | 'missing' };

/**
 * The absolute path of `name` inside `folder`, when its real path (links followed) stays inside `root`. Whoever can
 * write a version.yaml or a link must not be able to have other files of the machine served.
 */
export async function containedPath(root: string, folder: string, name: string): Promise<ContainedPath> {
  if (isAbsolute(name) || /(^|[\\/])\.\.([\\/]|$)|\0/.test(name)) return { ok: false, why: 'outside' };
  const path = join(folder, name);
  try {
    const [realRoot, real] = await Promise.all([realpath(root), realpath(path)]);
    return isInside(realRoot, real) ? { ok: true, path } : { ok: false, why: 'outside' };
  } catch {
    return { ok: false, why: 'missing' };
  }
}

/** Whether `path` is `root` or below it; both absolute and real. */
export function isInside(root: string, path: string): boolean {
  const step = relative(root, path);
  return step === '' || !(step === '..' || step.startsWith(`..${sep}`) || isAbsolute(step));
}
