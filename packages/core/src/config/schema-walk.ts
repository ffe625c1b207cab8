import { z } from 'zod';

/** Wrappers around one another; ours are at most three deep. */
const MAX_WRAPPERS = 8;

/** The schema inside `default`, `prefault` and `optional`. */
export function unwrap(schema: z.ZodType): z.ZodType {
  let current = schema;
  for (let depth = 0; depth < MAX_WRAPPERS; depth += 1) {
    if (
      current instanceof z.ZodDefault ||
      current instanceof z.ZodPrefault ||
      current instanceof z.ZodOptional
    ) {
      current = current.unwrap() as z.ZodType;
    } else break;
  }
  return current;
}

/** The fields of a mapping, in order; undefined when the schema is none. */
export function shapeOf(schema: z.ZodType): Readonly<Record<string, z.ZodType>> | undefined {
  const inner = unwrap(schema);
  return inner instanceof z.ZodObject ? (inner.shape as Record<string, z.ZodType>) : undefined;
}

/** The schema that a path leads to; undefined when it leads nowhere. */
export function schemaAt(root: z.ZodType, path: readonly PropertyKey[]): z.ZodType | undefined {
  let current: z.ZodType | undefined = root;
  for (const key of path) {
    if (current === undefined) return undefined;
    const inner = unwrap(current);
    if (inner instanceof z.ZodObject) current = (inner.shape as Record<string, z.ZodType>)[String(key)];
    else if (inner instanceof z.ZodArray) current = inner.element as z.ZodType;
    else return undefined;
  }
  return current;
}
