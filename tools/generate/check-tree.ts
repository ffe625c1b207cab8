import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Layer } from '../check-layers/layer-law.ts';
import type { Finding } from '../repository/finding.ts';
import { drawnFolders } from './drawn-tree.ts';

/** The drawn tree against the real one: what is drawn exists, and every layer is drawn. */
export function checkTree(checkout: {
  readonly root: string;
  readonly page: string;
  readonly layers: readonly Layer[];
}): Finding[] {
  const drawn = drawnFolders(checkout.page);
  const paths = new Set(drawn.map(({ path }) => path.replace(/\/src$/, '')));
  const gone = drawn
    .filter(
      ({ path }) =>
        !existsSync(join(checkout.root, path)) && !existsSync(join(checkout.root, inSource(path))),
    )
    .map(({ path, line }) => ({
      path: 'ARCHITECTURE.md',
      line,
      message: `the tree draws ${path}, which does not exist`,
    }));
  const missing = checkout.layers
    .filter(({ folder }) => !paths.has(drawnName(folder)))
    .map(({ name, folder }) => ({
      path: 'ARCHITECTURE.md',
      line: 0,
      message: `the tree does not draw layer ${name} (${folder})`,
    }));
  return [...gone, ...missing];
}

/** `packages/core/base` is drawn for `packages/core/src/base`: the `src` level says nothing. */
function inSource(path: string): string {
  const [packages, workspace, ...rest] = path.split('/');
  return [packages, workspace, 'src', ...rest].join('/');
}

function drawnName(folder: string): string {
  return folder.replace(/^(packages\/[^/]+)\/src/, '$1');
}
