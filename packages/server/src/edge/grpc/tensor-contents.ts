import { byteSizeOf, type Datatype, GimbalError } from '@gimbal/core';
import { DELIMITED, FIXED32, FIXED64, MAX_VARINT_BYTES, VARINT, WireReader } from './wire-reader.ts';

/** Length before each element of a BYTES tensor. */
const LENGTH_BYTES = 4;

/** Members of `InferTensorContents` by field number. */
const MEMBERS = [
  '',
  'bool_contents',
  'int_contents',
  'int64_contents',
  'uint_contents',
  'uint64_contents',
  'fp32_contents',
  'fp64_contents',
  'bytes_contents',
] as const;

/** Wire type of one element of each member. */
const WIRE_TYPES = [-1, VARINT, VARINT, VARINT, VARINT, VARINT, FIXED32, FIXED64, DELIMITED] as const;
const BYTES_FIELD = 8;

/** Which member holds elements of a datatype; FP16 has none. */
const FIELD_OF: Readonly<Record<Datatype, number>> = {
  BOOL: 1,
  INT8: 2,
  INT16: 2,
  INT32: 2,
  INT64: 3,
  UINT8: 4,
  UINT16: 4,
  UINT32: 4,
  UINT64: 5,
  FP16: 0,
  FP32: 6,
  FP64: 7,
  BYTES: BYTES_FIELD,
};

/** An input whose elements are in `contents`. */
export interface TypedInput {
  readonly name: string;
  readonly datatype: Datatype;
  readonly contents: readonly Buffer[];
}

export interface ContentsSize {
  readonly count: number;
  /** Of the tensor that they make. */
  readonly byteLength: number;
}

/** True when there is at least one element of any type. Throws MALFORMED_REQUEST. */
export function hasElements(contents: readonly Buffer[]): boolean {
  let found = false;
  for (const message of contents) {
    eachRun(message, (field, run) => {
      if (field === BYTES_FIELD || run.length > 0) found = true;
    });
  }
  return found;
}

/** Counts elements before memory is taken for them. Throws INVALID_INPUT for a member of another datatype. */
export function contentsSize(input: TypedInput): ContentsSize {
  const { datatype } = input;
  const expected = FIELD_OF[datatype];
  const size = byteSizeOf(datatype);
  let count = 0;
  let byteLength = 0;
  for (const message of input.contents) {
    eachRun(message, (field, run) => {
      if (field !== BYTES_FIELD && run.length === 0) return;
      if (field !== expected) throw wrongMember(input, field);
      const elements = field === BYTES_FIELD ? 1 : elementsIn(run, field);
      count += elements;
      byteLength += field === BYTES_FIELD ? LENGTH_BYTES + run.length : elements * size;
    });
  }
  return { count, byteLength };
}

/**
 * Writes the elements as the tensor that a runner reads: little endian, row-major. `target` has the length that
 * `contentsSize` told. Throws INVALID_INPUT for a value that the datatype can't hold.
 */
export function writeContents(input: TypedInput, target: Uint8Array): void {
  const view = new DataView(target.buffer, target.byteOffset, target.byteLength);
  let at = 0;
  for (const message of input.contents) {
    eachRun(message, (field, run) => {
      if (field === BYTES_FIELD) {
        view.setUint32(at, run.length, true);
        at += LENGTH_BYTES;
      }
      if (WIRE_TYPES[field] === VARINT) {
        at = writeVarints(input, run, { view, at });
        return;
      }
      // Floats on the wire are little endian, as tensors are.
      target.set(run, at);
      at += run.length;
    });
  }
}

/** Shows the bytes of packed runs and of single elements alike. */
function eachRun(message: Buffer, visit: (field: number, run: Buffer) => void): void {
  const reader = new WireReader(message);
  for (let tag = reader.next(); tag !== 0; tag = reader.next()) {
    const field = tag >>> 3;
    const type = tag & 7;
    const isKnown = field < WIRE_TYPES.length && (type === DELIMITED || type === WIRE_TYPES[field]);
    if (isKnown) visit(field, reader.value(tag));
    else reader.skip(tag);
  }
}

function elementsIn(run: Buffer, field: number): number {
  switch (WIRE_TYPES[field]) {
    case FIXED32:
      return wholeElements(run, 4, field);
    case FIXED64:
      return wholeElements(run, 8, field);
    default: {
      let count = 0;
      for (let at = 0; at < run.length; at += 1) if ((run[at] as number) < 0x80) count += 1;
      if ((run[run.length - 1] as number) >= 0x80) throw cutOff(field);
      return count;
    }
  }
}

function wholeElements(run: Buffer, size: number, field: number): number {
  if (run.length % size !== 0) throw cutOff(field);
  return run.length / size;
}

/** Returns where the next element goes. */
function writeVarints(input: TypedInput, run: Buffer, place: { view: DataView; at: number }): number {
  const { datatype } = input;
  const size = byteSizeOf(datatype);
  let { at } = place;
  let read = 0;
  while (read < run.length) {
    let low = 0;
    let high = 0;
    let length = 0;
    let byte = 0x80;
    while (byte >= 0x80) {
      if (length === MAX_VARINT_BYTES) throw cutOff(FIELD_OF[datatype]);
      byte = run[read + length] as number;
      const bits = byte & 0x7f;
      if (length < 4) low |= bits << (7 * length);
      else if (length === 4) {
        low |= bits << 28;
        high = bits >>> 4;
      } else high |= bits << (7 * length - 32);
      length += 1;
    }
    read += length;
    writeInteger(input, { low, high }, { view: place.view, at });
    at += size;
  }
  return at;
}

function writeInteger(
  input: TypedInput,
  { low, high }: { low: number; high: number },
  { view, at }: { view: DataView; at: number },
): void {
  switch (input.datatype) {
    case 'BOOL':
      view.setUint8(at, low !== 0 || high !== 0 ? 1 : 0);
      return;
    case 'INT8':
      view.setInt8(at, ranged(input, low | 0, -0x80, 0x7f));
      return;
    case 'INT16':
      view.setInt16(at, ranged(input, low | 0, -0x8000, 0x7fff), true);
      return;
    case 'UINT8':
      view.setUint8(at, ranged(input, low >>> 0, 0, 0xff));
      return;
    case 'UINT16':
      view.setUint16(at, ranged(input, low >>> 0, 0, 0xffff), true);
      return;
    // As every protobuf parser does, 32-bit members keep the lower half of what is on the wire.
    case 'INT32':
    case 'UINT32':
      view.setInt32(at, low, true);
      return;
    default:
      view.setInt32(at, low, true);
      view.setInt32(at + 4, high, true);
  }
}

function ranged(input: TypedInput, value: number, ...[least, most]: readonly [number, number]): number {
  if (value >= least && value <= most) return value;
  throw new GimbalError(
    'INVALID_INPUT',
    `Cannot use input "${input.name}": expected values of ${input.datatype} from ${least} to ${most}, got ${value}`,
  );
}

function wrongMember(input: TypedInput, field: number): GimbalError {
  const expected = MEMBERS[FIELD_OF[input.datatype]] ?? '';
  return new GimbalError(
    'INVALID_INPUT',
    `Cannot use input "${input.name}": expected its ${input.datatype} elements in "${expected}", got "${MEMBERS[field] ?? field}"`,
  );
}

function cutOff(field: number): GimbalError {
  return new GimbalError(
    'MALFORMED_REQUEST',
    `Cannot read the request: "${MEMBERS[field] ?? field}" ends inside an element`,
  );
}
