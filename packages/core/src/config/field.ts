import { z } from 'zod';

/** Why a field exists and why its default is what it is: the text of the reference page and of editors. */
export interface FieldNotes {
  readonly description: string;
  /** Why this default. Undefined for fields without one. */
  readonly reason?: string;
  /** True when a running server takes the new value without a restart. */
  readonly reloadable?: boolean;
  /** Flag of `gimbal serve` when it is not made of the path; `none` for fields that have another way in. */
  readonly flag?: string | { readonly none: string };
}

export interface RegisteredNotes extends FieldNotes {
  readonly default?: unknown;
}

export const FIELDS = z.registry<RegisteredNotes>();

/** A field with a default, which makes it optional in files and present in the result. */
export function field<T extends z.ZodType>(
  leaf: T,
  notes: FieldNotes & { readonly default: z.output<T>; readonly reason: string },
): z.ZodDefault<T> {
  const schema = z._default(leaf, notes.default as never) as unknown as z.ZodDefault<T>;
  FIELDS.add(schema, notes);
  return schema;
}

/** A field that may be left out and then stays undefined: the program derives it or does without. */
export function optionalField<T extends z.ZodType>(leaf: T, notes: FieldNotes): z.ZodOptional<T> {
  const schema = z.optional(leaf) as unknown as z.ZodOptional<T>;
  FIELDS.add(schema, notes);
  return schema;
}

/** A field that must be there. */
export function requiredField<T extends z.ZodType>(leaf: T, notes: FieldNotes): T {
  FIELDS.add(leaf, notes);
  return leaf;
}

/** A mapping whose unknown keys are errors. */
export function mapping<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? `one of ${Object.keys(shape).join(', ')}`
        : `a mapping with ${Object.keys(shape).slice(0, 6).join(', ')}…`,
  });
}

/** A mapping of fields that all have defaults: it may be left out whole. */
export function section<Shape extends z.ZodRawShape>(description: string, shape: Shape) {
  const schema = mapping(shape).prefault({} as never);
  FIELDS.add(schema, { description });
  return schema;
}
