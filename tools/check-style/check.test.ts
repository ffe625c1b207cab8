import { describe, expect, it } from 'vitest';
import { checkStyle } from './check.ts';

const check = (path: string, text: string): string[] =>
  checkStyle({ path, text }).map(({ line, message }) => `${line} ${message}`);
const PLAIN = 'packages/core/src/base/time.ts';
const lines = (count: number): string => 'call();\n'.repeat(count);

describe('check-style', () => {
  it('accepts a plain file', () => {
    expect(check(PLAIN, 'export function add(left: number, right: number) { return left + right; }')).toEqual(
      [],
    );
  });

  it('allows 500 lines and no more', () => {
    expect(check(PLAIN, lines(500))).toEqual([]);
    expect(check(PLAIN, lines(501))).toEqual(['500 has 501 lines, expected at most 500: split it by noun']);
  });

  it.each([
    ['a function', `function long() {\n${lines(68)}}`, `function long() {\n${lines(69)}}`],
    ['an arrow function', `const long = () => {\n${lines(68)}};`, `const long = () => {\n${lines(69)}};`],
    ['a method', `class A { long() {\n${lines(68)}} }`, `class A { long() {\n${lines(69)}} }`],
  ])('allows %s of 70 lines and no more', (_kind, fits, tooLong) => {
    expect(check(PLAIN, fits)).toEqual([]);
    expect(check(PLAIN, tooLong)).toEqual([
      expect.stringMatching(/^1 long has 71 lines, expected at most 70/),
    ]);
  });

  it('finds a long constructor and a long callback', () => {
    expect(check(PLAIN, `class A { constructor() {\n${lines(70)}} }`)[0]).toContain(
      'constructor has 72 lines',
    );
    expect(check(PLAIN, `run(() => {\n${lines(70)}});`)[0]).toContain('anonymous function has 72 lines');
  });

  it('lets a describe block of a test be long', () => {
    expect(check('packages/core/src/a.test.ts', `describe('a', () => {\n${lines(100)}});`)).toEqual([]);
  });

  it.each(['utils.ts', 'helpers.ts', 'common/a.ts', 'misc.ts', 'types.ts', 'utils.test.ts'])(
    'finds the empty name %s',
    (name) => {
      expect(check(`packages/core/src/${name}`, '')[0]).toContain('says nothing');
    },
  );

  it.each(['pool-manager.ts', 'worker.ts', 'string-utils.ts', 'upload-handler.ts'])(
    'finds a word that the glossary does not use in %s',
    (name) => {
      expect(check(`packages/core/src/${name}`, '').join()).toContain('which the glossary does not use');
    },
  );

  it('finds words that the glossary does not use in names of classes, interfaces and types', () => {
    const text = 'class PoolManager {}\ninterface Worker {}\ntype HelperOptions = {};\nclass Handle {}';
    expect(check(PLAIN, text)).toEqual([
      '1 "PoolManager" has "manager", which the glossary does not use',
      '2 "Worker" has "worker", which the glossary does not use',
      '3 "HelperOptions" has "helper", which the glossary does not use',
    ]);
  });

  it.each(['it.only', 'describe.skip', 'test.todo', 'it.concurrent.only'])('finds %s in a test', (call) => {
    expect(check('packages/core/src/a.test.ts', `\n${call}('x', () => {});`)).toEqual([
      `2 ${call}: a test that is switched off proves nothing`,
    ]);
  });

  it('allows tests that say when they run', () => {
    expect(
      check('tests/e2e/a.test.ts', `it.skipIf(true)('x', () => {}); list.only(); it.each([1])('y', f);`),
    ).toEqual([]);
  });

  it.each([
    ['TO', 'DO'],
    ['FIX', 'ME'],
    ['XX', 'X'],
  ])('finds open work marked %s%s', (head, tail) => {
    expect(check(PLAIN, `a();\n// ${head}${tail}: later`)).toEqual([
      '2 open work in the code: do it, or file an issue',
    ]);
  });
});
