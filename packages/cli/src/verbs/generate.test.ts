import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { clientSource } from '../client-source.ts';
import { WorkingFolder } from '../testing/command-line.ts';
import { FakeServer } from '../testing/fake-server.ts';
import { gimbalInProcess } from '../testing/in-process.ts';

const PRICES = {
  task: 'tabular',
  inputs: [{ name: 'x', datatype: 'FP64', shape: [-1, 2] }],
  outputs: [{ name: 'the price', datatype: 'FP64', shape: [-1, 1] }],
  columns: ['area', 'rooms'],
};

let server: FakeServer;
let folder: WorkingFolder;

beforeEach(async () => {
  folder = new WorkingFolder();
  server = new FakeServer({
    'GET /v1/models': { body: { models: [{ name: 'prices' }, { name: 'a-b' }, { name: 'gone' }] } },
    'GET /v1/models/prices': { body: PRICES },
    'GET /v1/models/a-b': { body: { ...PRICES, task: 'tensor', columns: null } },
    'GET /v1/models/gone': { body: { task: null } },
  });
  await server.start();
});

afterEach(async () => {
  await server.stop();
  folder.remove();
});

const generate = (...args: readonly string[]) =>
  gimbalInProcess(['generate', 'client', ...args], { cwd: folder.path });

describe('generate client', () => {
  it('prints the types of the models of a server', async () => {
    const { exitCode, stdout, stderr } = await generate('--from', server.url);
    expect(exitCode).toBe(0);
    expect(stderr).toContain('gone is left out');
    expect(stdout).toContain(`export type Models = {
  'a-b': {
    task: 'tensor';
    inputs: {
      x: { datatype: 'FP64'; shape: readonly [number, 2] };
    };
    outputs: {
      'the price': { datatype: 'FP64'; shape: readonly [number, 1] };
    };
    columns: never;
  };
  prices: {
    task: 'tabular';
    inputs: {
      x: { datatype: 'FP64'; shape: readonly [number, 2] };
    };
    outputs: {
      'the price': { datatype: 'FP64'; shape: readonly [number, 1] };
    };
    columns: 'area' | 'rooms';
  };
};`);
  });

  it('reads a folder of models without a server', async () => {
    const models = join(import.meta.dirname, '../../../../examples/models');
    const { exitCode, stdout } = await generate('--from', models);
    expect(exitCode).toBe(0);
    expect(stdout).toContain(`INPUT0: { datatype: 'INT32'; shape: readonly [number, 16] };`);
    expect(stdout).toContain(`task: 'object-detection';`);
    expect(stdout).toContain(`      | 'pixel_0_0'`);
  });

  it('writes a file, and leaves one that is right alone', async () => {
    const args = ['--from', server.url, '--out', 'src/models.ts'];
    expect((await generate(...args)).stderr).toContain('Wrote src/models.ts with the types of 2 models');
    const path = join(folder.path, 'src/models.ts');
    expect(readFileSync(path, 'utf8')).toContain('export function createClient');
    const { mtimeMs } = statSync(path);
    expect((await generate(...args)).stderr).toContain('src/models.ts is up to date');
    expect(statSync(path).mtimeMs).toBe(mtimeMs);
    const again = await generate(...args, '--json');
    expect(JSON.parse(again.stdout)).toEqual({
      models: ['a-b', 'prices'],
      file: 'src/models.ts',
      changed: false,
      dry_run: false,
    });
  });

  it('--dry-run writes nothing', async () => {
    const { stderr } = await generate('--from', server.url, '--out', 'models.ts', '--dry-run');
    expect(stderr).toContain('Would write models.ts');
    expect(existsSync(join(folder.path, 'models.ts'))).toBe(false);
  });

  it('says what is wrong with --from and --out', async () => {
    expect(await generate('--from', 'nowhere')).toMatchObject({ exitCode: 4 });
    expect((await generate('--from', 'http://127.0.0.1:1')).exitCode).toBe(6);
    expect((await generate('--from', server.url, '--out', '.')).exitCode).toBe(2);
    folder.write('empty/about.txt', '');
    expect((await generate('--from', 'empty')).exitCode).toBe(4);
  });
});

it('names that are no words stay inside their quotes, whatever they hold', () => {
  const name = `a'b\\c"d\u2028\n`;
  const source = clientSource([{ ...PRICES, name, columns: [name] }]);
  expect(source).toContain(`  ${JSON.stringify(name)}: {`);
  expect(source).toContain(`columns: ${JSON.stringify(name)};`);
});

it('the same models give the same text, whatever their order', () => {
  const models = ['b', 'a', 'c'].map((name) => ({ ...PRICES, name }));
  expect(clientSource(models)).toBe(clientSource([...models].reverse()));
});
