import { ERROR_CODES } from '@gimbal/core';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { FrontBench } from '../front/testing/front-bench.ts';
import { aFakeModel, anAddSubModel, aSignature, aTensorSpec, aVersionSpec } from '../testing/fake-model.ts';
import { openApiRoutes } from './openapi-routes.ts';

const models = [
  anAddSubModel(),
  aFakeModel({
    spec: aVersionSpec({
      model: 'digits',
      task: 'tabular',
      columns: ['a', 'b', 'c', 'd'],
      signature: aSignature({ inputs: [aTensorSpec('X', 'FP32', [-1, 4])] }),
    }),
  }),
  aFakeModel({ spec: aVersionSpec({ model: 'eyes', task: 'image-classification', labels: ['cat', 'dog'] }) }),
  aFakeModel({ spec: aVersionSpec({ model: 'faces', task: 'object-detection', labels: ['face'] }) }),
  aFakeModel({ spec: aVersionSpec({ model: 'words', task: 'text-embedding' }) }),
  aFakeModel({ spec: aVersionSpec({ model: 'mood', task: 'text-classification', labels: ['sad', 'glad'] }) }),
  aFakeModel({
    spec: aVersionSpec({
      model: 'odd name/ü',
      signature: aSignature({ inputs: [aTensorSpec('X', 'FP16', [3, -1, -1])], batchAxis: 'none' }),
    }),
  }),
];

// biome-ignore lint/suspicious/noExplicitAny: a document of unknown shape is walked here.
type Loose = any;

function aDocument(): Loose {
  const bench = new FrontBench(models, openApiRoutes);
  return bench.start({ url: '/openapi.json' }).json;
}

function operationsOf(document: Loose): { path: string; method: string; operation: Loose }[] {
  return Object.entries<Loose>(document.paths).flatMap(([path, item]) =>
    Object.entries<Loose>(item).map(([method, operation]) => ({ path, method, operation })),
  );
}

function walk(value: Loose, visit: (node: Loose) => void): void {
  if (typeof value !== 'object' || value === null) return;
  visit(value);
  for (const member of Object.values(value)) walk(member, visit);
}

function resolve(document: Loose, reference: string): Loose {
  return reference
    .slice(2)
    .split('/')
    .reduce((node, name) => node?.[name.replaceAll('~1', '/').replaceAll('~0', '~')], document);
}

describe('openapi.json', () => {
  it('has a predict and an infer path for each served model', () => {
    const { paths, openapi } = aDocument();
    expect(openapi).toBe('3.1.0');
    for (const { spec } of models) {
      const name = encodeURIComponent(spec.model);
      expect(paths[`/v1/models/${name}/predict`].post).toBeDefined();
      expect(paths[`/v2/models/${name}/infer`].post).toBeDefined();
    }
  });

  it('resolves all its references', () => {
    const document = aDocument();
    walk(document, (node) => {
      if (typeof node.$ref === 'string')
        expect([node.$ref, typeof resolve(document, node.$ref)]).toEqual([node.$ref, 'object']);
    });
  });

  it('gives each operation an id of its own, responses with descriptions, and its path parameters', () => {
    const document = aDocument();
    const operations = operationsOf(document);
    const ids = operations.map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { path, operation } of operations) {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
      const declared = (operation.parameters ?? []).filter((one: Loose) => one.in === 'path');
      expect(declared.map((one: Loose) => one.name)).toEqual(inPath);
      expect(Object.keys(operation.responses)).toContain('200');
      for (const [status, response] of Object.entries<Loose>(operation.responses)) {
        expect(status).toMatch(/^[2-5]\d\d$/);
        const target = response.$ref ? resolve(document, response.$ref) : response;
        expect(target.description.length).toBeGreaterThan(0);
      }
    }
  });

  it('has schemas that compile, and examples that fit them', () => {
    const document = aDocument();
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    ajv.addSchema({ $id: 'doc', components: document.components });
    const check = (schema: Loose, example: Loose): void => {
      const rooted = JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"doc#/'));
      const validate = ajv.compile(rooted);
      if (example !== undefined && !validate(example)) {
        throw new Error(`${JSON.stringify(example)}: ${ajv.errorsText(validate.errors)}`);
      }
    };
    let examples = 0;
    walk(document, (node) => {
      if (node.schema === undefined) return;
      check(node.schema, node.example);
      if (node.example !== undefined) examples += 1;
      for (const { value } of Object.values<Loose>(node.examples ?? {})) {
        check(node.schema, value);
        examples += 1;
      }
    });
    expect(examples).toBeGreaterThan(40);
  });

  it('knows exactly the codes of the registry', () => {
    const document = aDocument();
    expect(new Set(document.components.schemas.ErrorCode.enum)).toEqual(new Set(ERROR_CODES));
    const shown = new Set<string>();
    for (const [name, response] of Object.entries<Loose>(document.components.responses)) {
      const [content] = Object.values<Loose>(response.content);
      if (name.startsWith('Problem')) for (const code of Object.keys(content.examples)) shown.add(code);
    }
    // The one code that no client ever sees.
    expect(shown).toEqual(new Set(ERROR_CODES.filter((code) => code !== 'CANCELLED')));
  });

  it('is made anew only when what is served changes, and has an ETag', () => {
    const bench = new FrontBench(models, openApiRoutes);
    const first = bench.start({ url: '/openapi.json' });
    const etag = first.answer?.headers.get('etag') ?? '';
    const again = bench.start({ url: '/openapi.json', headers: { 'if-none-match': etag } });
    expect([again.status, again.text]).toEqual([304, '']);
    const [version] = bench.inference.versions;
    if (version) version.state = 'unavailable';
    const changed = bench.start({ url: '/openapi.json', headers: { 'if-none-match': etag } });
    expect(changed.status).toBe(200);
    expect(Object.keys((changed.json as Loose).paths)).not.toContain('/v1/models/add-sub/predict');
  });

  it('tells no paths of the server', () => {
    const bench = new FrontBench(models, openApiRoutes);
    expect(bench.start({ url: '/openapi.json' }).text).not.toContain('/models/echo/1');
  });
});
