import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import {
  configurationJsonSchema,
  configurationMarkdown,
  modelFileJsonSchema,
  versionFileJsonSchema,
} from './configuration-reference.ts';
import { CONFIGURATION_FIELDS, configurationSections } from './field-list.ts';
import { checkDocument } from './problem.ts';
import { modelFileSchema, versionFileSchema } from './version-file.ts';

const compile = (schema: object) =>
  new Ajv2020({ strict: true, allErrors: true, useDefaults: false }).compile(schema);

describe('names of fields', () => {
  it.each(['name', 'environment', 'flag'] as const)('every %s is used once', (kind) => {
    const names = CONFIGURATION_FIELDS.map((field) => field[kind]).filter((name) => name !== undefined);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });

  it('are what scripts rely on', () => {
    const byFlag = new Map(CONFIGURATION_FIELDS.map((field) => [field.flag, field]));
    expect(
      ['host', 'port', 'grpc-port', 'admin-port', 'admin-host'].map((flag) => byFlag.get(flag)?.name),
    ).toEqual(['http.host', 'http.port', 'grpc.port', 'admin.port', 'admin.host']);
    const names = CONFIGURATION_FIELDS.map(({ environment }) => environment);
    expect(names).toContain('GIMBAL_LOG_LEVEL');
    expect(names).toContain('GIMBAL_LIMITS_MAX_HEAD_BYTES');
  });

  it('every field says why its default is what it is', () => {
    const silent = CONFIGURATION_FIELDS.filter(
      ({ defaultText, reason }) => defaultText !== undefined && !reason,
    );
    expect(silent).toEqual([]);
    expect(CONFIGURATION_FIELDS.every(({ description }) => description.endsWith('.'))).toBe(true);
  });

  it('every part of the schema is a documented field: none is lost', () => {
    type Properties = Record<string, { properties?: Properties }>;
    const leavesOf = (properties: Properties): string[] =>
      Object.entries(properties).flatMap(([name, { properties: inner }]) =>
        inner === undefined ? [name] : leavesOf(inner).map((key) => `${name}.${key}`),
      );
    const inSchema = leavesOf(configurationJsonSchema().properties as Properties);
    expect(CONFIGURATION_FIELDS.map(({ name }) => name)).toEqual(inSchema);
  });
});

describe('JSON Schema', () => {
  it('of gimbal.yaml accepts what the check accepts and refuses what it refuses', () => {
    const validate = compile(configurationJsonSchema());
    expect(validate({})).toBe(true);
    expect(
      validate({ http: { port: 0 }, deadline: '1s', limits: { headTimeoutMs: 500, arenaBytes: '1GiB' } }),
    ).toBe(true);
    for (const wrong of [
      { deadline: 5 },
      { http: { prot: 1 } },
      { transport: 'shard' },
      { limits: { arenaBytes: '1 XB' } },
    ]) {
      expect(validate(wrong), JSON.stringify(wrong)).toBe(false);
    }
  });

  it('has defaults that fit the schema itself', () => {
    const schema = configurationJsonSchema();
    const validate = compile(schema);
    const properties = schema.properties as Record<
      string,
      { default?: unknown; properties?: Record<string, { default?: unknown }> }
    >;
    for (const [name, section] of Object.entries(properties)) {
      const document =
        section.properties === undefined
          ? section.default
          : Object.fromEntries(
              Object.entries(section.properties)
                .filter(([, field]) => field.default !== undefined)
                .map(([key, field]) => [key, field.default]),
            );
      if (document !== undefined)
        expect(validate({ [name]: document }), `${name}: ${JSON.stringify(validate.errors)}`).toBe(true);
    }
  });

  it('of version.yaml and model.yaml agrees with their checks', () => {
    const version = {
      task: 'image-classification',
      labels: 'labels.txt',
      image: {
        size: [260, 260],
        crop: 'centre',
        cropRatio: 0.89,
        resize: 'bicubic',
        colour: 'rgb',
        layout: 'nchw',
        mean: [127, 127, 127],
        std: 128,
      },
      variants: [
        {
          name: 'lite2',
          file: 'lite2.onnx',
          quality: 0.776,
          image: { size: { multipleOf: 32, maxSide: 640 } },
        },
      ],
      batching: { maxSize: 'auto', maxDelay: '5ms' },
      deadline: '1s',
    };
    const model = { versions: [1, 2], batching: { maxSize: 4 }, nonFiniteOutputs: 'allow' };
    expect(compile(versionFileJsonSchema())(version)).toBe(true);
    expect(checkDocument(versionFileSchema, version).ok).toBe(true);
    expect(compile(modelFileJsonSchema())(model)).toBe(true);
    expect(checkDocument(modelFileSchema, model).ok).toBe(true);
    expect(compile(versionFileJsonSchema())({ tsk: 'tensor' })).toBe(false);
    expect(compile(modelFileJsonSchema())({ versions: 'some' })).toBe(false);
  });
});

describe('the reference page', () => {
  const page = configurationMarkdown();

  it('has every field with default, variable and flag', () => {
    for (const { name, environment, flag, defaultText } of CONFIGURATION_FIELDS) {
      expect(page).toContain(`### ${name}\n`);
      expect(page).toContain(`\`${environment}\``);
      if (flag !== undefined) expect(page).toContain(`\`--${flag}\``);
      if (defaultText !== undefined) expect(page).toContain(`Default: \`${defaultText}\``);
    }
  });

  it('has every section', () => {
    for (const { name, description } of configurationSections()) {
      if (description !== '') expect(page).toContain(`## ${name}\n\n${description}`);
    }
  });
});
