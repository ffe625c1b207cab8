import { unreachable } from '../base/assert.ts';
import { GimbalError } from '../errors/gimbal-error.ts';
import { bytesTensorFault, LENGTH_BYTES } from './bytes-tensor.ts';
import { byteSizeOf, type Datatype } from './datatype.ts';
import { fromHalf } from './half.ts';
import type { JsonText } from './json-text.ts';
import { elementCount } from './shape.ts';
import { isUtf8 } from './utf8.ts';

/** A tensor to be written as JSON. */
export interface TensorText {
  /** For messages. */
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: readonly number[];
  /** Little endian, at any alignment; BYTES with their lengths. */
  readonly bytes: Uint8Array;
}

export interface TensorTextOptions {
  readonly layout: 'flat' | 'nested';
  /** What NaN and infinities become: bare `NaN` and `Infinity` as V2's servers write, `null`, or OUTPUT_INVALID. */
  readonly nonFinite: 'bare' | 'null' | 'error';
}

const OPEN = 0x5b;
const CLOSE = 0x5d;
const COMMA = 0x2c;

/**
 * Writes a tensor as a JSON array: floats as the shortest decimals of their own width, 64-bit integers with every digit,
 * BYTES as strings. Throws OUTPUT_INVALID when the bytes don't fit the shape, or BYTES are not UTF-8.
 */
export function writeTensorText(text: JsonText, tensor: TensorText, options: TensorTextOptions): void {
  const count = elementCount(tensor.shape);
  if (count === undefined || !fits(tensor, count)) throw misfit(tensor);
  const elements = new TensorElements(text, tensor, options);
  if (options.layout === 'flat' || tensor.shape.length === 1) elements.row(count);
  else if (tensor.shape.length === 0) elements.one();
  else writeAxis(text, elements, tensor.shape, 0);
}

function writeAxis(text: JsonText, elements: TensorElements, shape: readonly number[], axis: number): void {
  const length = shape[axis] ?? 0;
  if (axis === shape.length - 1) {
    elements.row(length);
    return;
  }
  text.character(OPEN);
  for (let index = 0; index < length; index += 1) {
    if (index > 0) text.character(COMMA);
    writeAxis(text, elements, shape, axis + 1);
  }
  text.character(CLOSE);
}

/** The elements of a tensor in turn. */
class TensorElements {
  readonly #text: JsonText;
  readonly #tensor: TensorText;
  readonly #view: DataView;
  readonly #nonFinite: TensorTextOptions['nonFinite'];
  /** Byte at which the next element begins. */
  #at = 0;

  constructor(text: JsonText, tensor: TensorText, { nonFinite }: TensorTextOptions) {
    const { bytes } = tensor;
    this.#text = text;
    this.#tensor = tensor;
    this.#nonFinite = nonFinite;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** The next `count` elements in brackets. */
  row(count: number): void {
    this.#text.character(OPEN);
    if (this.#tensor.datatype === 'FP32') this.#float32Row(count);
    else {
      for (let index = 0; index < count; index += 1) {
        if (index > 0) this.#text.character(COMMA);
        this.one();
      }
    }
    this.#text.character(CLOSE);
  }

  /** The next element. */
  one(): void {
    const at = this.#at;
    const { datatype } = this.#tensor;
    const view = this.#view;
    this.#at += byteSizeOf(datatype);
    switch (datatype) {
      case 'BOOL':
        this.#text.ascii(view.getUint8(at) === 0 ? 'false' : 'true');
        break;
      case 'UINT8':
        this.#text.integer(view.getUint8(at));
        break;
      case 'INT8':
        this.#text.integer(view.getInt8(at));
        break;
      case 'UINT16':
        this.#text.integer(view.getUint16(at, true));
        break;
      case 'INT16':
        this.#text.integer(view.getInt16(at, true));
        break;
      case 'UINT32':
        this.#text.integer(view.getUint32(at, true));
        break;
      case 'INT32':
        this.#text.integer(view.getInt32(at, true));
        break;
      case 'UINT64':
        this.#wide(view.getUint32(at, true), view.getUint32(at + 4, true));
        break;
      case 'INT64':
        this.#wide(view.getUint32(at, true), view.getInt32(at + 4, true));
        break;
      case 'FP16':
        this.#float(fromHalf(view.getUint16(at, true)), 4);
        break;
      case 'FP32':
        this.#float(view.getFloat32(at, true), 4);
        break;
      case 'FP64':
        this.#float(view.getFloat64(at, true), 8);
        break;
      case 'BYTES':
        this.#string(at);
        break;
      default:
        unreachable(datatype);
    }
  }

  /** What nearly every answer is made of, without a choice per element. */
  #float32Row(count: number): void {
    const text = this.#text;
    const view = this.#view;
    let at = this.#at;
    for (let index = 0; index < count; index += 1) {
      if (index > 0) text.character(COMMA);
      const value = view.getFloat32(at, true);
      // NaN - NaN and infinity - infinity are NaN.
      if (value - value === 0) text.float32(value);
      else this.#notFinite(value);
      at += 4;
    }
    this.#at = at;
  }

  #float(value: number, byteSize: 4 | 8): void {
    if (!Number.isFinite(value)) this.#notFinite(value);
    else if (byteSize === 4) this.#text.float32(value);
    else this.#text.float64(value);
  }

  #notFinite(value: number): void {
    if (this.#nonFinite === 'bare') {
      this.#text.ascii(Number.isNaN(value) ? 'NaN' : value > 0 ? 'Infinity' : '-Infinity');
    } else if (this.#nonFinite === 'null') this.#text.ascii('null');
    else {
      throw new GimbalError(
        'OUTPUT_INVALID',
        `Cannot write output "${this.#tensor.name}" as JSON: expected finite numbers, got ${value}`,
      );
    }
  }

  /** Above 2^53 a double loses digits: only those values pay for a BigInt. */
  #wide(low: number, high: number): void {
    const value = high * 0x100000000 + low;
    if (Number.isSafeInteger(value)) this.#text.integer(value);
    else this.#text.ascii(((BigInt(high) << 32n) | BigInt(low)).toString());
  }

  #string(at: number): void {
    const start = at + LENGTH_BYTES;
    const end = start + this.#view.getUint32(at, true);
    const element = this.#tensor.bytes.subarray(start, end);
    if (!isUtf8(element)) {
      throw new GimbalError(
        'OUTPUT_INVALID',
        `Cannot write output "${this.#tensor.name}" as JSON: expected UTF-8, got other bytes; ask for it as binary data`,
      );
    }
    this.#text.utf8String(element);
    this.#at = end;
  }
}

function fits({ datatype, bytes }: TensorText, count: number): boolean {
  if (datatype === 'BYTES') return bytesTensorFault(bytes, count) === undefined;
  return bytes.length === count * byteSizeOf(datatype);
}

function misfit({ name, shape, bytes }: TensorText): GimbalError {
  return new GimbalError(
    'OUTPUT_INVALID',
    `Cannot write output "${name}": expected the bytes of shape [${shape.join(', ')}], got ${bytes.length} bytes`,
  );
}
