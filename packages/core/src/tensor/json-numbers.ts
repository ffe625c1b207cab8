import { assert, unreachable } from '../base/assert.ts';
import { GimbalError } from '../errors/gimbal-error.ts';
import type { ByteBuffer } from './byte-buffer.ts';
import { byteSizeOf, type Datatype } from './datatype.ts';
import { toHalf } from './half.ts';
import { asciiOf } from './interned-names.ts';
import { jsonPointerAt } from './json-pointer.ts';
import type { JsonScan } from './json-scan.ts';

/** Numbers that are collected before they are written in the tensor's own datatype. */
const NUMBERS_AT_ONCE = 1024;

/** Any integer of so many digits is an exact double. */
const MAX_EXACT_DIGITS = 15;

/** More than a 64-bit integer takes in any sensible writing. */
const MAX_WHOLE_CHARACTERS = 40;

/** Powers of ten that a double holds exactly end at 10^22; the others are the nearest doubles. */
const MAX_SCALE = 60;
const POWERS = Float64Array.from({ length: MAX_SCALE + 1 }, (_, exponent) => Number(`1e${exponent}`));

/** Digits whose running value stays within the error that `approximate` allows for. */
const MAX_APPROXIMATE_DIGITS = 20;

/** Every rounding in `approximate` errs by at most 2^-53; there are fewer than 16 of them. */
const APPROXIMATION_ERROR = 2 ** -49;

const SPACE = 0x20;
const COMMA = 0x2c;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const CLOSE_ARRAY = 0x5d;

interface NumberRange {
  readonly min: number;
  readonly max: number;
  /** For messages. */
  readonly expected: string;
}

/** Largest doubles that still round to a finite float32 and half. */
const MAX_TO_FLOAT32 = 3.4028235677973362e38;
const MAX_TO_HALF = 65519.99999999999;

const RANGES: Readonly<Record<Exclude<Datatype, 'BOOL' | 'BYTES'>, NumberRange>> = {
  UINT8: { min: 0, max: 255, expected: 'a whole number from 0 to 255 (UINT8)' },
  UINT16: { min: 0, max: 65535, expected: 'a whole number from 0 to 65535 (UINT16)' },
  UINT32: { min: 0, max: 4294967295, expected: 'a whole number from 0 to 4294967295 (UINT32)' },
  UINT64: { min: 0, max: 2 ** 64, expected: 'a whole number from 0 to 18446744073709551615 (UINT64)' },
  INT8: { min: -128, max: 127, expected: 'a whole number from -128 to 127 (INT8)' },
  INT16: { min: -32768, max: 32767, expected: 'a whole number from -32768 to 32767 (INT16)' },
  INT32: {
    min: -2147483648,
    max: 2147483647,
    expected: 'a whole number from -2147483648 to 2147483647 (INT32)',
  },
  INT64: {
    min: -(2 ** 63),
    max: 2 ** 63,
    expected: 'a whole number from -9223372036854775808 to 9223372036854775807 (INT64)',
  },
  FP16: { min: -MAX_TO_HALF, max: MAX_TO_HALF, expected: 'a number from -65504 to 65504 (FP16)' },
  FP32: {
    min: -MAX_TO_FLOAT32,
    max: MAX_TO_FLOAT32,
    expected: 'a number of at most 3.4028235e38 either way (FP32)',
  },
  FP64: {
    min: -Number.MAX_VALUE,
    max: Number.MAX_VALUE,
    expected: 'a number of at most 1.7976931348623157e308 either way (FP64)',
  },
};

const MIN_WIDE: Readonly<Record<'INT64' | 'UINT64', bigint>> = { INT64: -(2n ** 63n), UINT64: 0n };
const MAX_WIDE: Readonly<Record<'INT64' | 'UINT64', bigint>> = {
  INT64: 2n ** 63n - 1n,
  UINT64: 2n ** 64n - 1n,
};

export type NumberDatatype = Exclude<Datatype, 'BOOL' | 'BYTES'>;

/** Where numbers go: exactly one of a fixed place or a buffer that grows. */
export interface NumberTarget {
  readonly scan: JsonScan;
  readonly name: string;
  readonly datatype: NumberDatatype;
  readonly maxElements: number;
  readonly destination: Uint8Array | undefined;
  readonly buffer: ByteBuffer;
}

/**
 * Reads runs of JSON numbers into memory of a datatype. Short ones (15 digits and no exponent, nearly all there are) are
 * an exact integer divided by an exact power of ten, which rounds right (Clinger, "How to read floating point numbers
 * accurately", 1990). Longer float32 are computed with an error bound and taken when both ends of the bound round to the
 * same float32; what is left goes to Number().
 */
export class JsonNumbers {
  readonly #numbers = new Float64Array(NUMBERS_AT_ONCE);
  /** 64-bit integers past 2^53 among `#numbers`: their places, and what they are. */
  readonly #widePlaces: number[] = [];
  readonly #wideValues: bigint[] = [];
  #fill = 0;
  #written = 0;
  #target: NumberTarget | undefined;
  #view: DataView | undefined;
  #min = 0;
  #max = 0;
  #isWhole = false;
  /** Elements that may still come. */
  #left = 0;
  /** Where the last plain number ends. */
  #after = 0;

  begin(target: NumberTarget): void {
    const { destination, datatype } = target;
    this.#target = target;
    this.#fill = 0;
    this.#written = 0;
    this.#left = target.maxElements;
    this.#widePlaces.length = 0;
    this.#wideValues.length = 0;
    this.#view =
      destination && new DataView(destination.buffer, destination.byteOffset, destination.byteLength);
    const range = RANGES[datatype];
    this.#min = range.min;
    this.#max = range.max;
    this.#isWhole = datatype !== 'FP16' && datatype !== 'FP32' && datatype !== 'FP64';
  }

  /** Numbers read so far. */
  get count(): number {
    return this.#written + this.#fill;
  }

  /** Reads the number ahead and all that follow it, up to the closing bracket, which stays ahead. */
  readRun(scan: JsonScan): void {
    const { bytes } = scan;
    const numbers = this.#numbers;
    const min = this.#min;
    const max = this.#max;
    const isWhole = this.#isWhole;
    let left = this.#left;
    let fill = this.#fill;
    let at = scan.at;
    for (;;) {
      let value = this.#plain(bytes, at);
      if (!(value >= min && value <= max) || (isWhole && value !== Math.trunc(value)) || left === 0) {
        this.#fill = fill;
        this.#left = left;
        scan.at = at;
        value = this.#rare(scan);
        this.#after = scan.at;
      }
      at = this.#after;
      numbers[fill] = value;
      fill += 1;
      left -= 1;
      if (fill === NUMBERS_AT_ONCE) {
        this.#fill = fill;
        this.#flush();
        fill = 0;
      }
      if (bytes[at] !== COMMA) {
        scan.at = at;
        const byte = scan.next();
        at = scan.at;
        if (byte === CLOSE_ARRAY) break;
        if (byte !== COMMA) throw scan.syntaxError('"," or "]"');
      }
      at += 1;
      if ((bytes[at] as number) <= SPACE) {
        scan.at = at;
        scan.next();
        at = scan.at;
      }
    }
    this.#fill = fill;
    this.#left = left;
  }

  /** Reads the one number ahead: a tensor with no axes. */
  readOne(scan: JsonScan): void {
    scan.next();
    this.#numbers[this.#fill] = this.#rare(scan);
    this.#fill += 1;
  }

  /** Writes what is still held back. */
  finish(): void {
    this.#flush();
  }

  /** The number at a place, and `#after` behind it; NaN when it is not one of the plain ones, whatever it is. */
  #plain(bytes: Uint8Array, start: number): number {
    let at = start;
    let byte = bytes[at] as number;
    const isNegative = byte === MINUS;
    if (isNegative) {
      at += 1;
      byte = bytes[at] as number;
    }
    const first = at;
    let value = 0;
    while (byte >= ZERO && byte <= NINE) {
      value = value * 10 + (byte - ZERO);
      at += 1;
      byte = bytes[at] as number;
    }
    let digits = at - first;
    if (digits === 0 || (digits > 1 && bytes[first] === ZERO)) return Number.NaN;
    if (byte === POINT) {
      at += 1;
      byte = bytes[at] as number;
      const point = at;
      while (byte >= ZERO && byte <= NINE) {
        value = value * 10 + (byte - ZERO);
        at += 1;
        byte = bytes[at] as number;
      }
      const decimals = at - point;
      digits += decimals;
      if (decimals === 0 || digits > MAX_EXACT_DIGITS) return Number.NaN;
      value /= POWERS[decimals] as number;
    } else if (digits > MAX_EXACT_DIGITS) return Number.NaN;
    if (byte !== COMMA && byte !== CLOSE_ARRAY && byte !== SPACE) return Number.NaN;
    this.#after = at;
    return isNegative ? -value : value;
  }

  /** Any value ahead: the number that it is, or the error that says why it is none of this datatype's. */
  #rare(scan: JsonScan): number {
    const target = this.#requireTarget();
    const start = scan.at;
    if (this.#left === 0 && scan.next() !== CLOSE_ARRAY) throw this.#tooMany(scan);
    const { expected } = RANGES[target.datatype];
    if (scan.bytes[start] === CLOSE_ARRAY) throw scan.syntaxError('a value after ","');
    if (scan.kind() !== 'number') throw scan.kindError(expected);
    if (scan.atNonFinite()) {
      const value = scan.nonFinite();
      if (this.#isWhole) throw this.#outOfRange(scan, start);
      return value;
    }
    scan.passNumber();
    if (this.#isWhole) return this.#rareWhole(scan, start);
    const estimate = target.datatype === 'FP32' ? approximateFloat32(scan.bytes, start, scan.at) : Number.NaN;
    if (!Number.isNaN(estimate)) return estimate;
    const value = Number(asciiOf(scan.bytes, start, scan.at));
    if (!(value >= this.#min && value <= this.#max)) throw this.#outOfRange(scan, start);
    return value;
  }

  #rareWhole(scan: JsonScan, start: number): number {
    const { datatype } = this.#requireTarget();
    const text = asciiOf(scan.bytes, start, Math.min(scan.at, start + MAX_WHOLE_CHARACTERS));
    if (scan.at - start > MAX_WHOLE_CHARACTERS) throw this.#outOfRange(scan, start);
    const value = Number(text);
    if (Number.isSafeInteger(value)) {
      // `5.0` is whole; past 15 digits a fraction could hide in the rounding, and `1e-400` is not 0.
      const isPlain = isWholeText(text) || text.length <= MAX_EXACT_DIGITS + 1;
      const isRoundedAway = value === 0 && /^[^eE]*[1-9]/.test(text);
      if (isPlain && !isRoundedAway && value >= this.#min && value <= this.#max) return value;
      throw this.#outOfRange(scan, start);
    }
    if ((datatype !== 'INT64' && datatype !== 'UINT64') || !isWholeText(text))
      throw this.#outOfRange(scan, start);
    const wide = BigInt(text);
    if (wide < MIN_WIDE[datatype] || wide > MAX_WIDE[datatype]) throw this.#outOfRange(scan, start);
    this.#widePlaces.push(this.#fill);
    this.#wideValues.push(wide);
    return 0;
  }

  #flush(): void {
    const count = this.#fill;
    const { datatype, buffer } = this.#requireTarget();
    const size = byteSizeOf(datatype);
    let view = this.#view;
    let at = this.#written * size;
    if (!view) {
      const room = buffer.extend(count * size);
      view = new DataView(room.buffer, room.byteOffset, room.byteLength);
      at = 0;
    }
    writeNumbers(datatype, { view, at, numbers: this.#numbers, count });
    for (let index = 0; index < this.#widePlaces.length; index += 1) {
      const place = at + (this.#widePlaces[index] as number) * 8;
      view.setBigInt64(place, BigInt.asIntN(64, this.#wideValues[index] as bigint), true);
    }
    this.#widePlaces.length = 0;
    this.#wideValues.length = 0;
    this.#written += count;
    this.#fill = 0;
  }

  #requireTarget(): NumberTarget {
    assert(this.#target, 'numbers are read between begin and finish');
    return this.#target;
  }

  #tooMany(scan: JsonScan): GimbalError {
    const { name, maxElements } = this.#requireTarget();
    return tooManyElements(scan, { name, maxElements });
  }

  #outOfRange(scan: JsonScan, start: number): GimbalError {
    const { name, datatype } = this.#requireTarget();
    const { expected } = RANGES[datatype];
    const pointer = jsonPointerAt(scan.bytes, start);
    const received = scan.quote(start);
    return new GimbalError(
      'INVALID_INPUT',
      `Cannot use input "${name}": the value in "${pointer}" does not fit, expected ${expected}, got ${received}`,
      { fields: [{ pointer, expected, received }] },
    );
  }
}

/** The error of an array with more elements than the tensor has; the one too many is ahead. */
export function tooManyElements(
  scan: JsonScan,
  { name, maxElements }: { name: string; maxElements: number },
): GimbalError {
  const pointer = jsonPointerAt(scan.bytes, scan.at);
  const expected = `${maxElements} ${maxElements === 1 ? 'element' : 'elements'}`;
  return new GimbalError(
    'INVALID_INPUT',
    `Cannot use input "${name}": it has too many elements, expected ${expected}, got more, the first too many in "${pointer}"`,
    { fields: [{ pointer, expected, received: 'more' }] },
  );
}

/**
 * The float32 nearest to the decimal in bytes of good syntax, or NaN when the error bound does not decide it. Number()
 * lies inside the bound, and rounding to float32 keeps order, so when both ends agree, they agree with it.
 */
function approximateFloat32(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  if (bytes[at] === MINUS) at += 1;
  let value = 0;
  let digits = 0;
  let scale = 0;
  let isFraction = false;
  for (; at < end; at += 1) {
    const byte = bytes[at] as number;
    if (byte === POINT) isFraction = true;
    else if (byte >= ZERO && byte <= NINE) {
      value = value * 10 + (byte - ZERO);
      if (value > 0) digits += 1;
      if (isFraction) scale -= 1;
    } else break;
  }
  if (digits > MAX_APPROXIMATE_DIGITS) return Number.NaN;
  if (at < end) scale += exponentOf(bytes, at + 1, end);
  if (!(scale <= MAX_SCALE && scale >= -MAX_SCALE)) return Number.NaN;
  value = scale < 0 ? value / (POWERS[-scale] as number) : value * (POWERS[scale] as number);
  const low = Math.fround(value * (1 - APPROXIMATION_ERROR));
  const high = Math.fround(value * (1 + APPROXIMATION_ERROR));
  if (low !== high || high === Number.POSITIVE_INFINITY) return Number.NaN;
  return bytes[start] === MINUS ? -low : low;
}

/** The signed digits of an exponent; beyond use when there are many. */
function exponentOf(bytes: Uint8Array, start: number, end: number): number {
  const isNegative = bytes[start] === MINUS;
  let value = 0;
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at] as number;
    if (byte >= ZERO && byte <= NINE) value = value * 10 + (byte - ZERO);
  }
  return isNegative ? -value : value;
}

function isWholeText(text: string): boolean {
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code !== MINUS && (code < ZERO || code > NINE)) return false;
  }
  return true;
}

interface Numbers {
  readonly view: DataView;
  readonly at: number;
  readonly numbers: Float64Array;
  readonly count: number;
}

/** Numbers known to be in range, in the bytes of a datatype. DataView asks for no alignment. */
function writeNumbers(datatype: NumberDatatype, { view, at, numbers, count }: Numbers): void {
  switch (datatype) {
    case 'UINT8':
    case 'INT8':
      for (let index = 0; index < count; index += 1) view.setInt8(at + index, numbers[index] as number);
      return;
    case 'UINT16':
    case 'INT16':
      for (let index = 0; index < count; index += 1) {
        view.setInt16(at + index * 2, numbers[index] as number, true);
      }
      return;
    case 'UINT32':
    case 'INT32':
      for (let index = 0; index < count; index += 1) {
        view.setInt32(at + index * 4, numbers[index] as number, true);
      }
      return;
    case 'UINT64':
    case 'INT64':
      for (let index = 0; index < count; index += 1) {
        const value = numbers[index] as number;
        view.setInt32(at + index * 8, value, true);
        view.setInt32(at + index * 8 + 4, Math.floor(value / 0x100000000), true);
      }
      return;
    case 'FP16':
      for (let index = 0; index < count; index += 1) {
        view.setUint16(at + index * 2, toHalf(numbers[index] as number), true);
      }
      return;
    case 'FP32':
      for (let index = 0; index < count; index += 1) {
        view.setFloat32(at + index * 4, numbers[index] as number, true);
      }
      return;
    case 'FP64':
      for (let index = 0; index < count; index += 1) {
        view.setFloat64(at + index * 8, numbers[index] as number, true);
      }
      return;
    default:
      unreachable(datatype);
  }
}
