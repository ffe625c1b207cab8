/** JSON values of the document; schemas are JSON Schema 2020-12, the dialect of OpenAPI 3.1. */
export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue };

export type JsonObject = { readonly [name: string]: JsonValue };

/** An object whose members are all known. */
export function closedObject(properties: JsonObject, required: readonly string[]): JsonObject {
  return { type: 'object', properties, required, additionalProperties: false };
}

/** An object with members that may grow. */
export function openObject(properties: JsonObject, required: readonly string[]): JsonObject {
  return { type: 'object', properties, required };
}

export function componentSchema(name: string): JsonObject {
  return { $ref: `#/components/schemas/${name}` };
}

export function jsonContent(schema: JsonObject, example?: JsonValue): JsonObject {
  return { 'application/json': example === undefined ? { schema } : { schema, example } };
}
