import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ERROR_CODES } from '@gimbal/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { METRICS } from '../../packages/server/src/telemetry/metric-definitions.ts';
import { checkLinks } from './check-links.ts';
import { checkTree } from './check-tree.ts';
import { drawnFolders } from './drawn-tree.ts';
import { errorsPage } from './errors-page.ts';
import { metricsPage } from './metrics-page.ts';

let root: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'gimbal-generate-'));
  mkdirSync(join(root, 'packages/core/src/base'), { recursive: true });
  mkdirSync(join(root, 'docs'));
  writeFileSync(join(root, 'docs/a.md'), '');
});
afterAll(() => rmSync(root, { recursive: true }));

const layer = (name: string, folder: string) => ({
  name,
  folder,
  imports: [],
  packages: [],
  node: [],
  drivers: {},
  computedImports: [],
});
const page = (...tree: string[]): string => ['# A', '<!-- tree -->', '```', ...tree, '```', ''].join('\n');

describe('pages made from tables', () => {
  it('name every error code exactly once', () => {
    for (const code of ERROR_CODES) expect(errorsPage().split(`\`${code}\``)).toHaveLength(2);
  });

  it('name every metric exactly once', () => {
    for (const { name } of Object.values(METRICS)) {
      expect(metricsPage().split(`\`${name}\``), name).toHaveLength(2);
    }
  });
});

describe('the drawn tree', () => {
  it('is read with its levels and without its explanations', () => {
    const drawn = drawnFolders(page('packages/core   pure', '  base/    time', 'docs/'));
    expect(drawn).toEqual([
      { path: 'packages/core', line: 4 },
      { path: 'packages/core/base', line: 5 },
      { path: 'docs', line: 6 },
    ]);
  });

  it('agrees when every drawn folder exists and every layer is drawn', () => {
    const layers = [layer('core', 'packages/core/src'), layer('core/base', 'packages/core/src/base')];
    expect(checkTree({ root, page: page('packages/core', '  base/', 'docs/'), layers })).toEqual([]);
  });

  it('disagrees about a drawn folder that is gone, and a layer that is not drawn', () => {
    const layers = [layer('core/base', 'packages/core/src/base')];
    const found = checkTree({ root, page: page('packages/core', '  engine/'), layers });
    expect(found.map(({ message, line }) => `${line} ${message}`)).toEqual([
      '5 the tree draws packages/core/engine, which does not exist',
      '0 the tree does not draw layer core/base (packages/core/src/base)',
    ]);
  });
});

describe('links of pages', () => {
  it('are followed from the page, other sites are not', () => {
    const text = '[a](a.md) [up](../docs/a.md#part) [site](https://example.test/x) [gone](b.md)';
    expect(checkLinks(root, { path: 'docs/page.md', text })).toEqual([
      { path: 'docs/page.md', line: 1, message: 'links to b.md, which does not exist' },
    ]);
  });
});
