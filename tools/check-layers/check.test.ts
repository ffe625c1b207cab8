import { describe, expect, it } from 'vitest';
import { checkLayers } from './check.ts';
import { readLaw } from './layer-law.ts';

const LAW = {
  layers: [
    { name: 'core/base', folder: 'packages/core/src/base' },
    { name: 'core/engine', folder: 'packages/core/src/engine', imports: ['core/base'] },
    { name: 'core', folder: 'packages/core/src', imports: ['core/base', 'core/engine'], packages: ['zod'] },
    { name: 'server/runner', folder: 'packages/server/src/runner', imports: ['core'], node: ['fs'] },
    {
      name: 'server/edge',
      folder: 'packages/server/src/edge',
      imports: ['core'],
      node: ['*'],
      drivers: { 'ticker.ts': ['setTimeout'] },
      computedImports: ['entry.ts'],
    },
  ],
  guardedGlobals: ['Date.now', 'performance.now', 'Math.random', 'setTimeout', 'process', 'console'],
  testPackages: ['vitest'],
};
const EXPORTS = new Map([
  ['@gimbal/core', 'packages/core/src/index.ts'],
  ['@gimbal/core/testing', 'packages/core/src/testing.ts'],
]);
const EDGE = 'packages/server/src/edge/route.ts';

/** Findings of a law-abiding checkout with one more file in it. */
function findings(path: string, text: string): string[] {
  const law = readLaw(JSON.stringify(LAW));
  const abiding = [
    'packages/core/src/base/time.ts',
    'packages/core/src/engine/queue.ts',
    'packages/core/src/index.ts',
    'packages/server/src/runner/main.ts',
    'packages/server/src/edge/answer.ts',
  ].map((other) => ({ path: other, text: 'export {};' }));
  return checkLayers({ law, files: [...abiding, { path, text }], exports: EXPORTS }).map(
    (found) => `${found.path}:${found.line} ${found.message}`,
  );
}

describe('check-layers', () => {
  it('accepts what the law allows', () => {
    const text = `
      import { a } from './answer.ts';
      import type { B } from '@gimbal/core';
      import { readFile } from 'node:fs/promises';
      export { a } from '@gimbal/core';
    `;
    expect(findings(EDGE, text)).toEqual([]);
  });

  it.each([
    ['a value', `import { run } from '../runner/main.ts';`],
    ['a type', `import type { Run } from '../runner/main.ts';`],
    ['a type among values', `import { type Run } from '../runner/main.ts';`],
    ['a side effect', `import '../runner/main.ts';`],
    ['a re-export', `export { run } from '../runner/main.ts';`],
    ['a re-export of everything', `export * from '../runner/main.ts';`],
    ['a re-exported type', `export type { Run } from '../runner/main.ts';`],
    ['a dynamic import', `const run = await import('../runner/main.ts');`],
    ['an import in a function', `const f = async () => { await import('../runner/main.ts'); };`],
    ['an import type', `let x: import('../runner/main.ts').Run;`],
    ['a require', `const run = require('../runner/main.ts');`],
    ['an import assignment', `import run = require('../runner/main.ts');`],
  ])('finds %s of a layer that may not be imported, with line, layers and remedy', (_kind, text) => {
    const found = findings(EDGE, `\n\n${text}`);
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(
      /^packages\/server\/src\/edge\/route\.ts:3 \[server\/edge\] imports layer server\/runner; it may import core\. Move the code/,
    );
  });

  it('finds an import of a later layer inside core', () => {
    expect(findings('packages/core/src/base/x.ts', `import '../engine/queue.ts';`)).toEqual([
      expect.stringContaining('[core/base] imports layer core/engine; it may import no other layer'),
    ]);
  });

  it('finds a path into another workspace, where the package should be named', () => {
    expect(findings(EDGE, `import '../../../core/src/base/time.ts';`)).toEqual([
      expect.stringContaining('reaches into workspace core by path'),
    ]);
  });

  it('finds an import() that cannot be followed', () => {
    expect(findings(EDGE, 'const f = (name: string) => import(name);')).toEqual([
      expect.stringContaining('no checker can follow it'),
    ]);
    expect(findings('packages/server/src/edge/entry.ts', 'await import(name);')).toEqual([]);
  });

  it('grants npm packages per layer', () => {
    expect(findings('packages/core/src/x.ts', `import { z } from 'zod';`)).toEqual([]);
    expect(findings('packages/core/src/base/x.ts', `import { z } from 'zod/v4';`)).toEqual([
      expect.stringContaining('[core/base] imports package zod; granted packages: none'),
    ]);
    expect(findings(EDGE, `import type { X } from '@scope/thing/deep';`)).toEqual([
      expect.stringContaining('imports package @scope/thing;'),
    ]);
  });

  it('grants built-in modules per layer, and wants their prefix', () => {
    const runner = 'packages/server/src/runner/x.ts';
    expect(findings(runner, `import 'node:fs';`)).toEqual([]);
    expect(findings(runner, `import 'node:net';`)).toEqual([expect.stringContaining('imports node:net')]);
    expect(findings(runner, `import 'fs';`)).toEqual([expect.stringContaining('write "node:fs"')]);
    expect(findings('packages/core/src/base/x.ts', `import type { Stats } from 'node:fs';`)).toEqual([
      expect.stringContaining('granted built-in modules: none'),
    ]);
  });

  it('lets tests see the workspaces that theirs builds on, test packages and all of Node, and no more', () => {
    const text = `import 'vitest'; import 'node:net'; import '../runner/main.ts'; import '@gimbal/core/testing'; setTimeout(() => {}, Date.now());`;
    expect(findings('packages/server/src/edge/route.test.ts', text)).toEqual([]);
    expect(findings('packages/server/src/edge/testing/fake.ts', text)).toEqual([]);
    expect(findings('packages/core/src/base/x.test.ts', `import '../engine/queue.ts';`)).toEqual([]);
    expect(findings('packages/server/src/edge/x.test.ts', `import 'koffi';`)).toHaveLength(1);
  });

  it('finds production code that imports what is made for tests', () => {
    expect(findings(EDGE, `import { fake } from './testing/fake.ts';`)).toEqual([
      expect.stringContaining('which is made for tests'),
    ]);
    expect(findings(EDGE, `import { fake } from '@gimbal/core/testing';`)).toEqual([
      expect.stringContaining('which is made for tests'),
    ]);
  });

  it.each([
    ['Date.now', 'const t = Date.now();'],
    ['Date.now', 'const t = new Date();'],
    ['performance.now', `import { performance } from 'node:perf_hooks'; const t = performance.now();`],
    ['Math.random', 'const r = [1].map(Math.random);'],
    ['setTimeout', 'setTimeout(() => {}, 1);'],
    ['setTimeout', 'globalThis.setTimeout(() => {}, 1);'],
    ['setTimeout', 'const later = setTimeout;'],
    ['setTimeout', 'const clock = { setTimeout };'],
    ['process', 'const home = process.env.HOME;'],
    ['process', `import process from 'node:process'; process.exit();`],
    ['console', 'console.log(1);'],
  ])('finds the guarded global %s in: %s', (name, text) => {
    expect(findings(EDGE, text)).toEqual([expect.stringContaining(`uses ${name}, which only drivers may`)]);
  });

  it.each([
    'const d = new Date(0);',
    'const x = { process: 1 }; x.process += 1;',
    'interface Clock { setTimeout(): void }',
    'class A { console = 1; process() {} }',
    'function f(process: number) { return process; }',
    'let t: typeof setTimeout;',
    'const m = Math.floor(1);',
    '// console.log(1)',
    'const s = "process.env";',
  ])('finds nothing in: %s', (text) => {
    expect(findings(EDGE, text)).toEqual([]);
  });

  it('lets named drivers use what they are granted, and nothing else', () => {
    const driver = 'packages/server/src/edge/ticker.ts';
    expect(findings(driver, 'setTimeout(() => {}, 1);')).toEqual([]);
    expect(findings(driver, 'console.log(1);')).toHaveLength(1);
  });

  it('finds a file that belongs to no layer, and a layer without sources', () => {
    expect(findings('bench/main.ts', '')).toEqual([expect.stringContaining('belongs to no layer')]);
    const law = readLaw(JSON.stringify(LAW));
    expect(checkLayers({ law, files: [], exports: EXPORTS })).toHaveLength(LAW.layers.length);
  });
});

describe('layers.json', () => {
  const changed = (change: object): string => JSON.stringify({ ...LAW, ...change });

  it('is refused when it names a layer that does not exist', () => {
    const layers = [{ name: 'a', folder: 'a', imports: ['b'] }];
    expect(() => readLaw(changed({ layers }))).toThrow('a imports the unknown layer "b"');
  });

  it('is refused when layers import each other in a circle', () => {
    const layers = [
      { name: 'a', folder: 'a', imports: ['b'] },
      { name: 'b', folder: 'b', imports: ['c'] },
      { name: 'c', folder: 'c', imports: ['a'] },
    ];
    expect(() => readLaw(changed({ layers }))).toThrow('a imports itself through other layers');
  });

  it('is refused when a key is misspelt', () => {
    const layers = [{ name: 'a', folder: 'a', import: ['b'] }];
    expect(() => readLaw(changed({ layers }))).toThrow('unknown key "a.import"');
  });

  it('is refused when it grants a global that is not guarded', () => {
    const layers = [{ name: 'a', folder: 'a', drivers: { 'x.ts': ['fetch'] } }];
    expect(() => readLaw(changed({ layers }))).toThrow('a grants the unknown global "fetch"');
  });
});
