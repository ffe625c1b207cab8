import { z } from 'zod';
import { BYTE_SIZE_PATTERN, formatByteSize, parseByteSize } from './byte-size.ts';
import { DURATION_PATTERN, formatDurationMs, parseDurationMs } from './duration.ts';

/** Longest text, longest list of a configuration file. */
const MAX_TEXT_LENGTH = 4_096;
const MAX_LIST_LENGTH = 16_384;

export type LeafKind =
  | 'integer'
  | 'number'
  | 'integer-or-auto'
  | 'duration'
  | 'bytes'
  | 'boolean'
  | 'choice'
  | 'text'
  | 'texts'
  | 'choices'
  | 'integers'
  | 'numbers';

/** What is known of a value that holds no others: from it come messages, documentation, JSON Schema and text coercion. */
export interface LeafNotes {
  readonly kind: LeafKind;
  /** The allowed values as a sentence fragment: `an integer from 1 to 65535`. */
  readonly expected: string;
  readonly choices: readonly string[];
  readonly jsonSchema: Readonly<Record<string, unknown>>;
  /** How a value is written in a file. */
  format(value: unknown): string;
}

export const LEAVES = z.registry<LeafNotes>();

interface Range {
  readonly min: number;
  readonly max: number;
}

export function integer({ min, max }: Range) {
  const expected = `an integer from ${min} to ${max}`;
  const schema = z.number({ error: expected }).int({ error: expected }).min(min, { error: expected });
  return noted(schema.max(max, { error: expected }), {
    ...leaf('integer', expected),
    jsonSchema: { type: 'integer', minimum: min, maximum: max },
  });
}

export function decimal({ min, max }: Range) {
  const expected = `a number from ${min} to ${max}`;
  const schema = z.number({ error: expected }).min(min, { error: expected }).max(max, { error: expected });
  return noted(schema, {
    ...leaf('number', expected),
    jsonSchema: { type: 'number', minimum: min, maximum: max },
  });
}

export function integerOrAuto({ min, max }: Range) {
  const expected = `an integer from ${min} to ${max}, or auto`;
  const number = z.number().int().min(min).max(max);
  return noted(z.union([z.literal('auto'), number], { error: expected }), {
    ...leaf('integer-or-auto', expected),
    jsonSchema: { anyOf: [{ const: 'auto' }, { type: 'integer', minimum: min, maximum: max }] },
  });
}

/**
 * Milliseconds, written as `5ms` or `1s`. A bare number of milliseconds is accepted only where the field's name says
 * `Ms`: elsewhere nobody could know what `deadline: 5` means.
 */
export function duration({
  minMs,
  maxMs,
  unit,
}: {
  minMs: number;
  maxMs: number;
  unit: 'in-name' | 'in-value';
}) {
  const bare = unit === 'in-name';
  const range = `from ${formatDurationMs(minMs)} to ${formatDurationMs(maxMs)}`;
  const expected = `a duration ${range}, ${bare ? 'in milliseconds or ' : ''}with its unit (5ms, 1s, 2m, 1h)`;
  const schema = z.union([z.number(), z.string()], { error: expected }).transform((value, context) => {
    const isBare = typeof value === 'number';
    const durationMs = isBare ? value : parseDurationMs(value);
    const allowed = isBare ? bare || value === 0 : true;
    if (allowed && durationMs !== undefined && durationMs >= minMs && durationMs <= maxMs) return durationMs;
    context.issues.push({ code: 'custom', message: expected, input: value });
    return z.NEVER;
  });
  const text = { type: 'string', pattern: DURATION_PATTERN };
  return noted(schema, {
    ...leaf('duration', expected),
    jsonSchema: bare ? { anyOf: [{ type: 'number', minimum: minMs, maximum: maxMs }, text] } : text,
    format: (value) => formatDurationMs(Number(value)),
  });
}

/** Bytes, written as `64MiB` or as a bare number. */
export function byteSize({ min, max }: Range) {
  const expected = `a size from ${formatByteSize(min)} to ${formatByteSize(max)}, in bytes or with its unit (64KiB, 16MiB, 1GiB)`;
  const schema = z.union([z.number(), z.string()], { error: expected }).transform((value, context) => {
    const bytes = typeof value === 'number' ? value : parseByteSize(value);
    if (bytes !== undefined && Number.isInteger(bytes) && bytes >= min && bytes <= max) return bytes;
    context.issues.push({ code: 'custom', message: expected, input: value });
    return z.NEVER;
  });
  const anyOf = [
    { type: 'integer', minimum: min, maximum: max },
    { type: 'string', pattern: BYTE_SIZE_PATTERN },
  ];
  return noted(schema, {
    ...leaf('bytes', expected),
    jsonSchema: { anyOf },
    format: (value) => formatByteSize(Number(value)),
  });
}

export function boolean() {
  const expected = 'true or false';
  return noted(z.boolean({ error: expected }), {
    ...leaf('boolean', expected),
    jsonSchema: { type: 'boolean' },
  });
}

export function choice<const Names extends readonly [string, ...string[]]>(names: Names) {
  const expected = oneOf(names);
  return noted(z.enum(names, { error: expected }), {
    ...leaf('choice', expected),
    choices: names,
    jsonSchema: { enum: [...names] },
  });
}

export function choices<const Names extends readonly [string, ...string[]]>(names: Names) {
  const expected = `a list of ${names.join(', ')}`;
  const schema = z.array(z.enum(names, { error: oneOf(names) }), { error: expected });
  return noted(schema.max(names.length, { error: expected }), {
    ...leaf('choices', expected),
    choices: names,
    jsonSchema: { type: 'array', items: { enum: [...names] } },
  });
}

/** A non-empty text; `what` says what it means: `a file name`. */
export function text(what: string) {
  const schema = z.string({ error: what }).min(1, { error: what }).max(MAX_TEXT_LENGTH, { error: what });
  return noted(schema, {
    ...leaf('text', what),
    jsonSchema: { type: 'string', minLength: 1, maxLength: MAX_TEXT_LENGTH },
    format: (value) => JSON.stringify(value),
  });
}

export function texts(what: string) {
  const expected = `a list of ${what}`;
  const item = z.string({ error: `one of ${what}, as text` }).min(1, { error: `one of ${what}, not empty` });
  return noted(z.array(item, { error: expected }).max(MAX_LIST_LENGTH, { error: expected }), {
    ...leaf('texts', expected),
    jsonSchema: { type: 'array', items: { type: 'string', minLength: 1 }, maxItems: MAX_LIST_LENGTH },
  });
}

export function integers({ min, max, maxItems }: Range & { maxItems: number }) {
  const one = `an integer from ${min} to ${max}`;
  const expected = `a list of at most ${maxItems} integers from ${min} to ${max}`;
  const item = z.number({ error: one }).int({ error: one }).min(min, { error: one }).max(max, { error: one });
  return noted(z.array(item, { error: expected }).max(maxItems, { error: expected }), {
    ...leaf('integers', expected),
    jsonSchema: { type: 'array', items: { type: 'integer', minimum: min, maximum: max }, maxItems },
  });
}

/** One number per channel; a single number stands for all. */
export function perChannel({ min, max }: Range) {
  const expected = `a number from ${min} to ${max}, or a list with one for each channel`;
  const number = z.number().min(min).max(max);
  const item = { type: 'number', minimum: min, maximum: max };
  const schema = z.union([number.transform((value) => [value]), z.array(number).min(1).max(4)], {
    error: expected,
  });
  return noted(schema, {
    ...leaf('numbers', expected),
    jsonSchema: { anyOf: [item, { type: 'array', items: item, minItems: 1, maxItems: 4 }] },
  });
}

/** A text from an environment variable or a flag as the value that a file would hold; errors are left to the schema. */
export function fromText(kind: LeafKind, written: string): unknown {
  const trimmed = written.trim();
  switch (kind) {
    case 'integer':
    case 'number':
    case 'integer-or-auto':
    case 'duration':
    case 'bytes':
      return toNumber(trimmed);
    case 'boolean':
      return toBoolean(trimmed);
    case 'choice':
    case 'text':
      return trimmed;
    case 'texts':
    case 'choices':
      return toList(trimmed);
    case 'integers':
    case 'numbers':
      return toList(trimmed).map(toNumber);
  }
}

function toNumber(written: string): string | number {
  return /^-?\d+(\.\d+)?$/.test(written) ? Number(written) : written;
}

function toBoolean(written: string): string | boolean {
  const lower = written.toLowerCase();
  if (['true', '1', 'yes', 'on'].includes(lower)) return true;
  return ['false', '0', 'no', 'off'].includes(lower) ? false : written;
}

function toList(written: string): string[] {
  return written === '' ? [] : written.split(',').map((item) => item.trim());
}

export function oneOf(names: readonly string[]): string {
  return names.length === 1 ? `${names[0]}` : `one of ${names.join(', ')}`;
}

function leaf(kind: LeafKind, expected: string): Omit<LeafNotes, 'jsonSchema'> {
  return { kind, expected, choices: [], format: formatPlain };
}

function formatPlain(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(formatPlain).join(', ')}]`;
  return String(value);
}

function noted<T extends z.ZodType>(schema: T, notes: LeafNotes): T {
  LEAVES.add(schema, notes);
  return schema;
}
