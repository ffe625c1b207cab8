import type { z } from 'zod';
import { nearestName } from '../base/nearest-name.ts';
import { schemaAt, shapeOf } from './schema-walk.ts';

/** Longest value that a message quotes. */
const MAX_QUOTED_LENGTH = 80;

/** Most problems told of one document; after that many nobody reads on. */
const MAX_PROBLEMS = 50;

/** One thing that is wrong in a configuration, wherever it came from. */
export interface ConfigurationProblem {
  readonly path: readonly (string | number)[];
  /** `key`: the name itself is unknown; `value`: what it holds is wrong. */
  readonly at: 'key' | 'value';
  readonly expected: string;
  readonly got: string;
  readonly hint: string | undefined;
}

export type CheckedDocument<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problems: readonly ConfigurationProblem[] };

/** Checks plain values (as parsed from YAML or JSON) against a schema of this folder; never throws. */
export function checkDocument<T extends z.ZodType>(schema: T, raw: unknown): CheckedDocument<z.output<T>> {
  const result = schema.safeParse(raw ?? {});
  if (result.success) return { ok: true, value: result.data };
  const problems = result.error.issues.flatMap((issue) => problemsOf(issue, schema, raw));
  return { ok: false, problems: problems.slice(0, MAX_PROBLEMS) };
}

/** `variants[1].image.size`; "" for the document itself. */
export function fieldName(path: readonly (string | number)[]): string {
  let name = '';
  for (const key of path) {
    if (typeof key === 'number') name += `[${key}]`;
    else name += name === '' ? key : `.${key}`;
  }
  return name;
}

/** A value as a message shows it: quoted when it is text, cut when it is long. */
export function quoteValue(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (typeof value === 'bigint') return String(value);
  let shown: string;
  try {
    shown = JSON.stringify(value) ?? String(value);
  } catch {
    shown = String(value);
  }
  return shown.length <= MAX_QUOTED_LENGTH ? shown : `${shown.slice(0, MAX_QUOTED_LENGTH)}…`;
}

function problemsOf(issue: z.core.$ZodIssue, schema: z.ZodType, raw: unknown): ConfigurationProblem[] {
  const path = issue.path.map((key) => (typeof key === 'symbol' ? String(key) : key));
  if (issue.code === 'unrecognized_keys') {
    const names = Object.keys(shapeOf(schemaAt(schema, path) ?? schema) ?? {});
    return issue.keys.map((key) => ({
      path: [...path, key],
      at: 'key',
      expected: issue.message,
      got: quoteValue(key),
      hint: didYouMean(nearestName(key, names)),
    }));
  }
  const value = valueAt(raw, path);
  const told = issue.code === 'custom' ? (issue.params?.got as string | undefined) : undefined;
  const names = issue.code === 'invalid_value' ? issue.values.map(String) : [];
  return [
    {
      path,
      at: 'value',
      expected: issue.message,
      got: told ?? quoteValue(value),
      hint: typeof value === 'string' ? didYouMean(nearestName(value, names)) : undefined,
    },
  ];
}

function didYouMean(name: string | undefined): string | undefined {
  return name === undefined ? undefined : `did you mean ${JSON.stringify(name)}?`;
}

function valueAt(raw: unknown, path: readonly (string | number)[]): unknown {
  let value = raw;
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<string | number, unknown>)[key];
  }
  return value;
}
