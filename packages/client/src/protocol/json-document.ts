import { AnswerError } from '../errors.ts';

export type JsonDocument = Readonly<Record<string, unknown>>;

/** Throws an AnswerError for what is no JSON object. */
export function readDocument(bytes: Uint8Array): JsonDocument {
  return parseDocument(new TextDecoder().decode(bytes));
}

export function parseDocument(text: string): JsonDocument {
  const document = documentOf(text);
  if (document) return document;
  const shown = text.slice(0, 80);
  throw new AnswerError(`Cannot read the answer: expected a JSON object, got ${JSON.stringify(shown)}`, {
    code: 'BAD_ANSWER',
  });
}

function documentOf(text: string): JsonDocument | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isDocument(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

export function isDocument(value: unknown): value is JsonDocument {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** `max_body_bytes` → `maxBodyBytes`, all the way down; for documents whose names are the server's own. */
export function camelCased(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(camelCased);
  if (!isDocument(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [camelName(name), camelCased(inner)]),
  );
}

function camelName(name: string): string {
  return name.replace(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase());
}
