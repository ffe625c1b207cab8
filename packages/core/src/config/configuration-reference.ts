import { z } from 'zod';
import { configurationSchema } from './configuration.ts';
import { FIELDS } from './field.ts';
import { type ConfigurationField, configurationSections } from './field-list.ts';
import { LEAVES } from './leaf.ts';
import { unwrap } from './schema-walk.ts';
import { modelFileSchema, versionFileSchema } from './version-file.ts';

/** JSON Schema of gimbal.yaml, for editors. */
export function configurationJsonSchema(): Record<string, unknown> {
  return jsonSchemaOf(configurationSchema, {
    title: 'gimbal.yaml',
    description: 'Configuration of a Gimbal server',
  });
}

/** JSON Schema of version.yaml. */
export function versionFileJsonSchema(): Record<string, unknown> {
  return jsonSchemaOf(versionFileSchema, {
    title: 'version.yaml',
    description: 'What one version of a model is',
  });
}

/** JSON Schema of model.yaml. */
export function modelFileJsonSchema(): Record<string, unknown> {
  return jsonSchemaOf(modelFileSchema, {
    title: 'model.yaml',
    description: 'What holds for all versions of a model and may change while it is served',
  });
}

/** The page docs/reference/configuration.md. */
export function configurationMarkdown(): string {
  const lines = [
    '# Configuration',
    '',
    'Every field of `gimbal.yaml`, with its environment variable and its flag of `gimbal serve`. A flag beats the',
    'environment, which beats the file, which beats the default. Durations are written with their unit (`5ms`, `1s`,',
    '`2m`, `1h`), sizes too (`64KiB`, `16MiB`, `1GiB`); fields whose name ends in `Ms` or `Bytes` also take a bare number.',
    'Lists are comma-separated in variables and flags. Unknown names are errors. Fields marked *reloadable* take a new',
    'value without a restart.',
    '',
  ];
  const sections = configurationSections();
  const plain = sections.filter((section) => section.description === '');
  lines.push('## Top level', '', ...plain.flatMap(({ fields }) => fields.flatMap(fieldMarkdown)));
  for (const { name, description, fields } of sections) {
    if (description === '') continue;
    lines.push(`## ${name}`, '', description, '', ...fields.flatMap(fieldMarkdown));
  }
  return `${lines.join('\n').trimEnd()}\n`;
}

function fieldMarkdown(field: ConfigurationField): string[] {
  const { defaultText } = field;
  const rows = [
    `- Default: ${defaultText === undefined ? 'none' : `\`${defaultText}\``}${field.reason ? `. ${field.reason}` : ''}`,
    `- Allowed: ${field.expected}`,
    `- Environment: \`${field.environment}\`${field.flag === undefined ? '' : ` · flag: \`--${field.flag}\``}`,
  ];
  return [
    `### ${field.name}`,
    '',
    `${field.description}${field.reloadable ? ' *Reloadable.*' : ''}`,
    '',
    ...rows,
    '',
  ];
}

function jsonSchemaOf(
  schema: z.ZodType,
  titles: { title: string; description: string },
): Record<string, unknown> {
  const generated = z.toJSONSchema(schema, { io: 'input', override: describe, unrepresentable: 'any' });
  const { $schema, ...rest } = generated as Record<string, unknown>;
  return { $schema, ...titles, ...rest };
}

/** Puts our notes in: exact leaves, descriptions, defaults as a file would hold them. */
function describe({
  zodSchema,
  jsonSchema,
}: {
  zodSchema: unknown;
  jsonSchema: Record<string, unknown>;
}): void {
  const schema = zodSchema as z.ZodType;
  const inner = unwrap(schema);
  const leaf = LEAVES.get(inner);
  if (leaf !== undefined) {
    for (const key of Object.keys(jsonSchema)) delete jsonSchema[key];
    Object.assign(jsonSchema, structuredCopy(leaf.jsonSchema));
  }
  const notes = FIELDS.get(schema);
  if (notes === undefined) return;
  jsonSchema.description = notes.description;
  if (leaf === undefined || notes.default === undefined) delete jsonSchema.default;
  else jsonSchema.default = writtenDefault(leaf.kind, leaf.format(notes.default), notes.default);
}

function writtenDefault(kind: string, written: string, value: unknown): unknown {
  return kind === 'duration' || kind === 'bytes' ? written : value;
}

function structuredCopy<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}
