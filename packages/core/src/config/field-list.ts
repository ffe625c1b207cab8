import type { z } from 'zod';
import { configurationSchema } from './configuration.ts';
import { FIELDS, type RegisteredNotes } from './field.ts';
import { LEAVES, type LeafKind, type LeafNotes } from './leaf.ts';
import { fieldName } from './problem.ts';
import { shapeOf, unwrap } from './schema-walk.ts';

const ENVIRONMENT_PREFIX = 'GIMBAL_';

/** One field of gimbal.yaml with every name it has. */
export interface ConfigurationField {
  readonly path: readonly string[];
  /** `http.port`. */
  readonly name: string;
  /** `GIMBAL_HTTP_PORT`. */
  readonly environment: string;
  /** `http-port` without dashes; undefined when the field has no flag. */
  readonly flag: string | undefined;
  readonly kind: LeafKind;
  readonly choices: readonly string[];
  readonly expected: string;
  /** As a file would hold it; undefined when there is none. */
  readonly defaultText: string | undefined;
  readonly description: string;
  readonly reason: string | undefined;
  readonly reloadable: boolean;
}

/** Sections of the configuration with what they are about, in file order. */
export interface ConfigurationSection {
  readonly name: string;
  readonly description: string;
  readonly fields: readonly ConfigurationField[];
}

/** Every field of gimbal.yaml, in file order. */
export const CONFIGURATION_FIELDS: readonly ConfigurationField[] = fieldsOf(configurationSchema, []);

export function configurationSections(): ConfigurationSection[] {
  return Object.entries(shapeOf(configurationSchema) ?? {}).map(([name, schema]) => ({
    name,
    description: shapeOf(schema) === undefined ? '' : (FIELDS.get(schema)?.description ?? ''),
    fields: CONFIGURATION_FIELDS.filter((field) => field.path[0] === name),
  }));
}

function fieldsOf(schema: z.ZodType, path: readonly string[]): ConfigurationField[] {
  const shape = shapeOf(schema);
  if (shape !== undefined) {
    return Object.entries(shape).flatMap(([key, inner]) => fieldsOf(inner, [...path, key]));
  }
  const leaf = LEAVES.get(unwrap(schema));
  const notes = FIELDS.get(schema);
  return leaf === undefined || notes === undefined ? [] : [describe(path, leaf, notes)];
}

function describe(path: readonly string[], leaf: LeafNotes, notes: RegisteredNotes): ConfigurationField {
  const words = path.flatMap((key) => key.split(/(?=[A-Z])/)).map((word) => word.toLowerCase());
  const { flag } = notes;
  return {
    path,
    name: fieldName(path),
    environment: ENVIRONMENT_PREFIX + words.join('_').toUpperCase(),
    flag: flag === undefined ? words.join('-') : typeof flag === 'string' ? flag : undefined,
    kind: leaf.kind,
    choices: leaf.choices,
    expected: leaf.expected,
    defaultText: notes.default === undefined ? undefined : leaf.format(notes.default),
    description: notes.description,
    reason: notes.reason,
    reloadable: notes.reloadable ?? false,
  };
}
