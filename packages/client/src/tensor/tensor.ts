import { ValidationError } from '../errors.ts';
import { type Datatype, type ElementSource, isDatatype, type TensorElements } from './datatype.ts';
import { fromBrainBits, fromHalfBits } from './half.ts';

/** Marks what `tensor` made and checked; a symbol, since models name their inputs as they like. */
const CHECKED: unique symbol = Symbol('gimbal tensor');

/** A tensor of known datatype and shape; row-major. A union over `D`, so that `datatype` narrows `data`. */
export type Tensor<D extends Datatype = Datatype, S extends readonly number[] = readonly number[]> = {
  readonly [Each in D]: {
    readonly datatype: Each;
    readonly shape: S;
    /** Not copied: it must not change while a call that sends it is running. */
    readonly data: TensorElements[Each];
    readonly [CHECKED]: true;
  };
}[D];

/** Axes that the protocol's servers accept. */
const MAX_AXES = 32;

/**
 * A tensor to send. Throws a ValidationError when the number of elements is not what the shape says, or when an element
 * does not fit the datatype.
 */
export function tensor<const D extends Datatype, const S extends readonly number[]>(
  datatype: D,
  shape: S,
  elements: ElementSource[D],
): Tensor<D, S> {
  if (!isDatatype(datatype)) throw refused('a datatype of the protocol', JSON.stringify(datatype));
  const count = elementCount(shape);
  if (count === undefined || shape.length > MAX_AXES) {
    throw refused(`a shape of at most ${MAX_AXES} lengths, none negative`, JSON.stringify(shape));
  }
  const data = elementsOf(datatype, elements);
  if (data.length !== count) {
    throw refused(`${count} elements for ${datatype} [${shape.join(', ')}]`, String(data.length));
  }
  return checked(datatype, shape, data) as unknown as Tensor<D, S>;
}

/** A tensor that came from a server and was checked on the way. */
export function receivedTensor(
  datatype: Datatype,
  shape: readonly number[],
  data: TensorElements[Datatype],
): Tensor {
  return checked(datatype, shape, data);
}

/** Not enumerable: a copy with other members has not been checked. */
function checked(datatype: Datatype, shape: readonly number[], data: TensorElements[Datatype]): Tensor {
  const made = { datatype, shape, data };
  return Object.defineProperty(made, CHECKED, { value: true }) as unknown as Tensor;
}

export function isTensor(value: unknown): value is Tensor {
  return typeof value === 'object' && value !== null && CHECKED in value;
}

/** The elements of a BYTES tensor as texts. Throws a TypeError where the bytes are not UTF-8. */
export function textsOf(value: Tensor<'BYTES'>): string[] {
  const utf8 = new TextDecoder('utf-8', { fatal: true });
  return value.data.map((element) => utf8.decode(element));
}

/** Elements of a shape; undefined when a length is none or the product is past what a number can count. */
export function elementCount(shape: readonly number[]): number | undefined {
  let count = 1;
  for (const length of shape) {
    if (!Number.isSafeInteger(length) || length < 0) return undefined;
    count *= length;
  }
  return Number.isSafeInteger(count) ? count : undefined;
}

function elementsOf(datatype: Datatype, source: ElementSource[Datatype]): TensorElements[Datatype] {
  switch (datatype) {
    case 'BOOL':
      return booleans(source as ElementSource['BOOL']);
    case 'FP16':
      return floats(source as ElementSource['FP16'], fromHalfBits);
    case 'BF16':
      return floats(source as ElementSource['BF16'], fromBrainBits);
    case 'INT64':
      return wide(source as ElementSource['INT64'], BigInt64Array);
    case 'UINT64':
      return wide(source as ElementSource['UINT64'], BigUint64Array);
    case 'BYTES':
      return bytes(source as ElementSource['BYTES']);
    default:
      return numbers(datatype, source as ArrayLike<number>);
  }
}

const ARRAYS = {
  UINT8: Uint8Array,
  UINT16: Uint16Array,
  UINT32: Uint32Array,
  INT8: Int8Array,
  INT16: Int16Array,
  INT32: Int32Array,
  FP32: Float32Array,
  FP64: Float64Array,
} as const;

/** A number that the array would wrap or cut is refused: the model would see another one. */
function numbers(datatype: keyof typeof ARRAYS, source: ArrayLike<number>): TensorElements[Datatype] {
  const List = ARRAYS[datatype];
  if (source instanceof List) return source;
  if (source instanceof Uint8ClampedArray && datatype === 'UINT8') return new Uint8Array(source);
  if (!Array.isArray(source)) throw refused(`an array or a ${List.name} for ${datatype}`, typeName(source));
  const data = new List(source);
  const isExact = datatype !== 'FP32' && datatype !== 'FP64';
  for (let index = 0; index < data.length; index += 1) {
    const given: unknown = source[index];
    if (typeof given !== 'number' || (isExact && data[index] !== given)) {
      throw refused(`numbers that fit ${datatype}`, `${String(given)} at element ${index}`);
    }
  }
  return data;
}

function wide<List extends BigInt64Array | BigUint64Array>(
  source: List | readonly bigint[],
  Elements: new (length: number) => List,
): List {
  if (source instanceof Elements) return source;
  if (!Array.isArray(source)) throw refused(`bigints or a ${Elements.name}`, typeName(source));
  const data = new Elements(source.length);
  source.forEach((given: unknown, index) => {
    if (typeof given !== 'bigint') throw refused('bigints', `${String(given)} at element ${index}`);
    data[index] = given;
    if (data[index] !== given)
      throw refused(`bigints that fit a ${Elements.name}`, `${given} at element ${index}`);
  });
  return data;
}

function floats(source: ElementSource['FP16'], fromBits: (bits: number) => number): Float32Array {
  if (source instanceof Float32Array) return source;
  if (source instanceof Uint16Array) return Float32Array.from(source, fromBits);
  return numbers('FP32', source) as Float32Array;
}

function booleans(source: ElementSource['BOOL']): Uint8Array {
  const data = source instanceof Uint8Array ? source : Uint8Array.from(source, (value) => (value ? 1 : 0));
  const wrong = data.findIndex((byte) => byte > 1);
  if (wrong >= 0) throw refused('bytes 0 and 1 for BOOL', `${data[wrong]} at element ${wrong}`);
  return data;
}

function bytes(source: ElementSource['BYTES']): readonly Uint8Array[] {
  const utf8 = new TextEncoder();
  return Array.from(source, (element: unknown, index) => {
    if (typeof element === 'string') return utf8.encode(element);
    if (element instanceof Uint8Array) return element;
    throw refused('texts or Uint8Arrays for BYTES', `${typeName(element)} at element ${index}`);
  });
}

function typeName(value: unknown): string {
  return typeof value === 'object' && value !== null
    ? (value.constructor?.name ?? 'an object')
    : typeof value;
}

function refused(expected: string, got: string): ValidationError {
  return new ValidationError(`Cannot make the tensor: expected ${expected}, got ${got}`);
}
