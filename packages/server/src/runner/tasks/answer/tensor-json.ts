import { type Datatype, GimbalError, type TensorOutput, unreachable } from '@gimbal/core';
import { fromHalfBits } from '../half-float.ts';
import type { JsonWriter } from './json-writer.ts';
import { aligned } from './tensor-numbers.ts';

const OPEN = 0x5b;
const CLOSE = 0x5d;
const COMMA = 0x2c;

/** An output as its elements are read. */
interface Elements {
  readonly datatype: Datatype;
  readonly view: DataView;
  /** The elements of a BYTES output. */
  readonly strings: readonly Uint8Array[];
}

/**
 * Writes rows `first` to `first + rows` (along axis 0) of an output as a nested array. Floats are shortest decimals of
 * their own width, 64-bit integers keep every digit, NaN and infinities are `null`, BYTES are strings.
 */
export function writeTensor(
  writer: JsonWriter,
  output: TensorOutput,
  { datatype, first, rows }: { datatype: Datatype; first: number; rows: number },
): void {
  const shape = output.shape;
  if (datatype === 'FP32' && shape.length <= 2) {
    writeFloatRows(writer, output, { first, rows });
    return;
  }
  const { buffer, byteOffset, byteLength } = output.bytes;
  const strings = datatype === 'BYTES' ? splitBytes(output.bytes) : [];
  const elements = { datatype, view: new DataView(buffer, byteOffset, byteLength), strings };
  if (shape.length === 0) writeElement(writer, elements, 0);
  else if (shape.length === 1) writeRun(writer, elements, { from: first, count: rows });
  else {
    const strides = stridesOf(shape);
    const axes = { counts: [rows, ...shape.slice(1)], strides, elements };
    writeAxis(writer, axes, 0, first * (strides[0] ?? 1));
  }
}

/** The common case of classifiers and embeddings, without a call per element. */
function writeFloatRows(
  writer: JsonWriter,
  output: TensorOutput,
  { first, rows }: { first: number; rows: number },
) {
  const bytes = aligned(output.bytes, 4);
  const values = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength >> 2);
  if (output.shape.length === 0) {
    writer.float32(values[0] as number);
    return;
  }
  if (output.shape.length === 1) {
    writer.float32Array(values, first, rows);
    return;
  }
  const width = output.shape[1] as number;
  writer.character(OPEN);
  for (let row = 0; row < rows; row += 1) {
    if (row > 0) writer.character(COMMA);
    writer.float32Array(values, (first + row) * width, width);
  }
  writer.character(CLOSE);
}

interface Axes {
  readonly counts: readonly number[];
  readonly strides: readonly number[];
  readonly elements: Elements;
}

function writeAxis(writer: JsonWriter, axes: Axes, axis: number, from: number): void {
  const count = axes.counts[axis] ?? 0;
  if (axis === axes.counts.length - 1) {
    writeRun(writer, axes.elements, { from, count });
    return;
  }
  const stride = axes.strides[axis] ?? 1;
  writer.character(OPEN);
  for (let index = 0; index < count; index += 1) {
    if (index > 0) writer.character(COMMA);
    writeAxis(writer, axes, axis + 1, from + index * stride);
  }
  writer.character(CLOSE);
}

function writeRun(
  writer: JsonWriter,
  elements: Elements,
  { from, count }: { from: number; count: number },
): void {
  writer.character(OPEN);
  for (let index = 0; index < count; index += 1) {
    if (index > 0) writer.character(COMMA);
    writeElement(writer, elements, from + index);
  }
  writer.character(CLOSE);
}

/** Elements between neighbours along each axis, row-major. */
function stridesOf(shape: readonly number[]): readonly number[] {
  const strides = new Array<number>(shape.length).fill(1);
  for (let axis = shape.length - 2; axis >= 0; axis -= 1) {
    strides[axis] = (strides[axis + 1] ?? 1) * (shape[axis + 1] ?? 1);
  }
  return strides;
}

function writeElement(writer: JsonWriter, { datatype, view, strings }: Elements, index: number): void {
  switch (datatype) {
    case 'BOOL':
      writer.ascii(view.getUint8(index) === 0 ? 'false' : 'true');
      break;
    case 'UINT8':
      writer.integer(view.getUint8(index));
      break;
    case 'INT8':
      writer.integer(view.getInt8(index));
      break;
    case 'UINT16':
      writer.integer(view.getUint16(index * 2, true));
      break;
    case 'INT16':
      writer.integer(view.getInt16(index * 2, true));
      break;
    case 'UINT32':
      writer.integer(view.getUint32(index * 4, true));
      break;
    case 'INT32':
      writer.integer(view.getInt32(index * 4, true));
      break;
    case 'UINT64':
      writeWide(writer, view.getUint32(index * 8, true), view.getUint32(index * 8 + 4, true));
      break;
    case 'INT64':
      writeWide(writer, view.getUint32(index * 8, true), view.getInt32(index * 8 + 4, true));
      break;
    case 'FP16':
      writer.float32(fromHalfBits(view.getUint16(index * 2, true)));
      break;
    case 'FP32':
      writer.float32(view.getFloat32(index * 4, true));
      break;
    case 'FP64':
      writer.float64(view.getFloat64(index * 8, true));
      break;
    case 'BYTES':
      writer.utf8String(strings[index] ?? new Uint8Array(0));
      break;
    default:
      unreachable(datatype);
  }
}

/** Above 2^53 a double loses digits: only those values pay for a BigInt. */
function writeWide(writer: JsonWriter, low: number, high: number): void {
  const value = high * 0x1_0000_0000 + low;
  if (Number.isSafeInteger(value)) writer.integer(value);
  else writer.ascii(((BigInt(high) << 32n) | BigInt(low)).toString());
}

/** BYTES elements: each has a 4-byte little-endian length before it. */
function splitBytes(bytes: Uint8Array): readonly Uint8Array[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const elements: Uint8Array[] = [];
  let at = 0;
  while (at + 4 <= bytes.length) {
    const length = view.getUint32(at, true);
    if (at + 4 + length > bytes.length) throw cutOff();
    elements.push(bytes.subarray(at + 4, at + 4 + length));
    at += 4 + length;
  }
  if (at !== bytes.length) throw cutOff();
  return elements;
}

function cutOff(): GimbalError {
  return new GimbalError('OUTPUT_INVALID', 'Cannot answer: a BYTES output of the model is cut off');
}
