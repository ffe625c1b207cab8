import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What the workspaces publish: `@gimbal/core/testing` → `packages/core/src/testing.ts`. */
export function workspaceExports(root: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const folder of readdirSync(join(root, 'packages'))) {
    const manifest = join(root, 'packages', folder, 'package.json');
    if (!existsSync(manifest)) continue;
    const { name, exports } = JSON.parse(readFileSync(manifest, 'utf8')) as {
      name: string;
      exports?: Record<string, string>;
    };
    for (const [entry, target] of Object.entries(exports ?? {})) {
      found.set(join(name, entry).replace(/\/\.?$/, ''), join('packages', folder, target));
    }
  }
  return found;
}
