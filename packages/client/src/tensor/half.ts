/** Numbers as the bits of FP16 (IEEE 754 binary16) and BF16 (the upper half of a float), and back. */

const FLOAT = new Float32Array(1);
const FLOAT_BITS = new Uint32Array(FLOAT.buffer);
const DOUBLE = new Float64Array(1);
const DOUBLE_WORDS = new Uint32Array(DOUBLE.buffer);

/** From here on a number rounds to infinity: halfway between the largest half, 65504, and the next power of two. */
const HALF_OVERFLOW = 65520;
const MIN_NORMAL_HALF = 2 ** -14;

/** Rounded once, from the double, to nearest even. */
export function toHalfBits(value: number): number {
  if (Number.isNaN(value)) return 0x7e00;
  const magnitude = Math.abs(value);
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  if (magnitude >= HALF_OVERFLOW) return sign | 0x7c00;
  // Below 2^-14 halves are multiples of 2^-24.
  if (magnitude < MIN_NORMAL_HALF) return sign | roundToEven(magnitude * 2 ** 24);
  const exponent = exponentOf(magnitude);
  // Eleven significant bits; a carry out of them moves into the exponent by itself.
  return sign | (((exponent + 14) << 10) + roundToEven(magnitude * 2 ** (10 - exponent)));
}

export function fromHalfBits(bits: number): number {
  const sign = (bits & 0x8000) === 0 ? 1 : -1;
  const exponent = (bits >>> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 0x1f) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** Rounded to a float first, then to nearest even: what frameworks do with a float32 array. */
export function toBrainBits(value: number): number {
  if (Number.isNaN(value)) return 0x7fc0;
  FLOAT[0] = value;
  const bits = FLOAT_BITS[0] as number;
  return ((bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16) & 0xffff;
}

export function fromBrainBits(bits: number): number {
  FLOAT_BITS[0] = (bits << 16) >>> 0;
  return FLOAT[0] as number;
}

/** Binary exponent of a normal double; typed arrays are little endian wherever JavaScript runs today. */
function exponentOf(magnitude: number): number {
  DOUBLE[0] = magnitude;
  return (((DOUBLE_WORDS[1] as number) >>> 20) & 0x7ff) - 1023;
}

function roundToEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  return rest > 0.5 || (rest === 0.5 && floor % 2 === 1) ? floor + 1 : floor;
}
