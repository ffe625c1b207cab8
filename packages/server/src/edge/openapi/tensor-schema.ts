import type { Datatype, TensorSpec, VersionSpec } from '@gimbal/core';
import { closedObject, type JsonObject } from './schema.ts';

/** Longest flat form that a schema offers beside the nested one. */
const MAX_FLAT = 1_000_000;

/** Past this, whole numbers are not the same in every JSON parser. */
const MAX_SAFE = Number.MAX_SAFE_INTEGER;

const FLOAT32_MAX = 3.4028234663852886e38;

/** One input of a tabular or tensor model, as the native API takes it. */
export function nativeTensorSchema(spec: VersionSpec): JsonObject {
  const batches = spec.signature.batchAxis === 'dynamic';
  const { inputs } = spec.signature;
  const [only] = inputs;
  if (inputs.length !== 1 || !only) {
    return closedObject(
      Object.fromEntries(inputs.map((input) => [input.name, arraySchema(input, batches)])),
      inputs.map(({ name }) => name),
    );
  }
  const array = arraySchema(only, batches);
  if (!spec.columns) return array;
  const element = elementSchema(only.datatype);
  const columns = Object.fromEntries(spec.columns.map((column) => [column, element]));
  return { anyOf: [array, closedObject(columns, spec.columns)] };
}

/** An array of the input's shape: as one item, with the batch axis in front, or flat. */
function arraySchema({ datatype, shape }: TensorSpec, batches: boolean): JsonObject {
  const element = elementSchema(datatype);
  const itemShape = batches ? shape.slice(1) : shape;
  const forms: JsonObject[] = [nestedSchema(itemShape, element)];
  if (batches) forms.push({ type: 'array', minItems: 1, items: nestedSchema(itemShape, element) });
  const count = itemShape.every((length) => length >= 0)
    ? itemShape.reduce((product, length) => product * length, 1)
    : undefined;
  if (itemShape.length > 1 && count !== undefined && count <= MAX_FLAT) {
    forms.push({ type: 'array', items: element, minItems: count, maxItems: count });
  }
  const [first] = forms;
  return forms.length === 1 && first ? first : { anyOf: forms };
}

function nestedSchema(shape: readonly number[], element: JsonObject): JsonObject {
  const [length, ...rest] = shape;
  if (length === undefined) return element;
  const items = nestedSchema(rest, element);
  return length < 0 ? { type: 'array', items } : { type: 'array', items, minItems: length, maxItems: length };
}

export function elementSchema(datatype: Datatype): JsonObject {
  switch (datatype) {
    case 'BOOL':
      return { type: 'boolean' };
    case 'BYTES':
      return { type: 'string' };
    case 'FP16':
      return { type: 'number', minimum: -65504, maximum: 65504 };
    case 'FP32':
      return { type: 'number', minimum: -FLOAT32_MAX, maximum: FLOAT32_MAX };
    case 'FP64':
      return { type: 'number' };
    case 'UINT8':
      return wholeNumber(0, 255);
    case 'UINT16':
      return wholeNumber(0, 65_535);
    case 'UINT32':
      return wholeNumber(0, 4_294_967_295);
    case 'UINT64':
      return wholeNumber(0, MAX_SAFE);
    case 'INT8':
      return wholeNumber(-128, 127);
    case 'INT16':
      return wholeNumber(-32_768, 32_767);
    case 'INT32':
      return wholeNumber(-2_147_483_648, 2_147_483_647);
    case 'INT64':
      return wholeNumber(-MAX_SAFE, MAX_SAFE);
  }
}

function wholeNumber(minimum: number, maximum: number): JsonObject {
  return { type: 'integer', minimum, maximum };
}
