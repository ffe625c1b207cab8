const SCRATCH = new Float64Array(1);
const SCRATCH_WORDS = new Uint32Array(SCRATCH.buffer);

/** Largest finite half; anything from 65520 on rounds to infinity. */
export const MAX_HALF = 65504;
const HALF_OVERFLOW = 65520;
const MIN_NORMAL_HALF = 2 ** -14;

/** IEEE 754 binary16 bits of a number, rounded once from the double to nearest even. */
export function toHalf(value: number): number {
  const magnitude = Math.abs(value);
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  if (Number.isNaN(value)) return 0x7e00;
  if (magnitude >= HALF_OVERFLOW) return sign | 0x7c00;
  // Below 2^-14 halves are multiples of 2^-24.
  if (magnitude < MIN_NORMAL_HALF) return sign | roundToEven(magnitude * 2 ** 24);
  const exponent = exponentOf(magnitude);
  // 11 significant bits; a carry out of them moves into the exponent by itself.
  return sign | (((exponent + 14) << 10) + roundToEven(magnitude * 2 ** (10 - exponent)));
}

/** The number that binary16 bits stand for. */
export function fromHalf(bits: number): number {
  const sign = (bits & 0x8000) === 0 ? 1 : -1;
  const exponent = (bits >>> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 0x1f) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** Binary exponent of a normal double. */
function exponentOf(magnitude: number): number {
  SCRATCH[0] = magnitude;
  return (((SCRATCH_WORDS[1] as number) >>> 20) & 0x7ff) - 1023;
}

function roundToEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  return rest > 0.5 || (rest === 0.5 && floor % 2 === 1) ? floor + 1 : floor;
}
