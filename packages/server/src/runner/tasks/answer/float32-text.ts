/** Most bytes that one number takes: sign, digits, point, exponent. */
export const MAX_NUMBER_BYTES = 32;

/** Significant digits tried, fewest first: six are always needed to be sure of five, nine always suffice. */
const MIN_DIGITS = 6;
const MAX_DIGITS = 9;

/** Powers of ten up to the last that a double holds exactly. */
const POWERS = Array.from({ length: 23 }, (_, exponent) => Number(`1e${exponent}`));
const MAX_EXACT_POWER = POWERS.length - 1;

/** Decimal exponents whose numbers are scaled by exact powers, and with a table of where each begins. */
const MIN_SCALED_EXPONENT = MAX_DIGITS - 1 - MAX_EXACT_POWER;
const BEGINNINGS = Array.from({ length: MAX_EXACT_POWER - MIN_SCALED_EXPONENT + 2 }, (_, index) =>
  Number(`1e${index + MIN_SCALED_EXPONENT}`),
);

/** Decimal exponents written without `e`, where that is about as short. */
const MIN_PLAIN_EXPONENT = -4;
const MAX_PLAIN_EXPONENT = 20;

const ZERO = 0x30;
const POINT = 0x2e;
const MINUS = 0x2d;

const SCRATCH = new Float32Array(1);
const SCRATCH_BITS = new Int32Array(SCRATCH.buffer);

/**
 * Writes the shortest decimal that reads back as the same float32, as ASCII at `at`, and returns where it ends. NaN and
 * infinities, which JSON cannot say, are written as `null`. Room for MAX_NUMBER_BYTES is the caller's promise.
 *
 * Numbers are most of an answer's bytes. `String(value)` would print a float32 with the 17 digits of the double that it
 * was widened to. Here a candidate of n digits is an integer made by one multiplication; it is right when dividing it
 * back gives the value (both exact enough: 9 digits and a power of ten up to 10^22 are exact in a double).
 */
export function writeFloat32(target: Uint8Array, at: number, value: number): number {
  if (value === 0) return writeAscii(target, at, Object.is(value, -0) ? '-0' : '0');
  const magnitude = Math.abs(value);
  if (!(magnitude < Number.POSITIVE_INFINITY)) return writeAscii(target, at, 'null');
  let to = at;
  if (value < 0) {
    target[to] = MINUS;
    to += 1;
  }
  const exponent = decimalExponent(magnitude);
  if (exponent < MIN_SCALED_EXPONENT || exponent > MAX_EXACT_POWER) {
    return writeAscii(target, to, rareFloat32(magnitude));
  }
  for (let digits = MIN_DIGITS; digits < MAX_DIGITS; digits += 1) {
    const decimals = digits - 1 - exponent;
    const candidate = Math.round(scale(magnitude, decimals));
    if (Math.fround(scale(candidate, -decimals)) === magnitude) {
      return writeDecimal(target, to, candidate | 0, decimals);
    }
  }
  const decimals = MAX_DIGITS - 1 - exponent;
  return writeDecimal(target, to, Math.round(scale(magnitude, decimals)) | 0, decimals);
}

/** Writes a safe integer as ASCII and returns where it ends. */
export function writeInteger(target: Uint8Array, at: number, value: number): number {
  if (value < 0) {
    target[at] = MINUS;
    return writeInteger(target, at + 1, -value);
  }
  if (value > 0x7fffffff) return writeAscii(target, at, String(value));
  const integer = value | 0;
  return writeDigits(target, at, integer, digitCount(integer));
}

export function writeAscii(target: Uint8Array, at: number, text: string): number {
  for (let index = 0; index < text.length; index += 1) target[at + index] = text.charCodeAt(index);
  return at + text.length;
}

function scale(value: number, powerOfTen: number): number {
  return powerOfTen >= 0 ? value * (POWERS[powerOfTen] as number) : value / (POWERS[-powerOfTen] as number);
}

/**
 * The exponent of the leading digit, estimated from the binary exponent (1233 / 4096 is log10 of 2) and put right by one
 * comparison: a tenth of what a logarithm costs. Outside the table any exponent outside will do.
 */
function decimalExponent(magnitude: number): number {
  SCRATCH[0] = magnitude;
  const binaryExponent = ((SCRATCH_BITS[0] as number) >>> 23) - 127;
  const estimate = (binaryExponent * 1233) >> 12;
  const next = BEGINNINGS[estimate + 1 - MIN_SCALED_EXPONENT];
  return next !== undefined && magnitude >= next ? estimate + 1 : estimate;
}

/** `digits` × 10^-`decimals`, trailing zeros dropped. */
function writeDecimal(target: Uint8Array, at: number, digits: number, decimals: number): number {
  let significand = digits;
  let places = decimals;
  while (significand % 10 === 0) {
    significand = (significand / 10) | 0;
    places -= 1;
  }
  const count = digitCount(significand);
  const exponent = count - 1 - places;
  if (exponent < MIN_PLAIN_EXPONENT || exponent > MAX_PLAIN_EXPONENT) {
    const to = writePointed(target, at, significand, { count, whole: 1 });
    target[to] = 0x65;
    return writeInteger(target, to + 1, exponent);
  }
  if (places <= 0) return writeZeros(target, writeDigits(target, at, significand, count), -places);
  if (exponent >= 0) return writePointed(target, at, significand, { count, whole: count - places });
  target[at] = ZERO;
  target[at + 1] = POINT;
  return writeDigits(target, writeZeros(target, at + 2, -exponent - 1), significand, count);
}

/** Digits with a point after the first `whole` of them: written one place to the right, then those moved back. */
function writePointed(
  target: Uint8Array,
  at: number,
  significand: number,
  { count, whole }: { count: number; whole: number },
): number {
  if (count <= whole) return writeDigits(target, at, significand, count);
  const end = writeDigits(target, at + 1, significand, count);
  for (let index = at; index < at + whole; index += 1) target[index] = target[index + 1] as number;
  target[at + whole] = POINT;
  return end;
}

/** `count` digits of a 31-bit integer, the last first. */
function writeDigits(target: Uint8Array, at: number, value: number, count: number): number {
  let rest = value | 0;
  for (let place = at + count - 1; place >= at; place -= 1) {
    const quotient = (rest / 10) | 0;
    target[place] = ZERO + rest - Math.imul(quotient, 10);
    rest = quotient;
  }
  return at + count;
}

function writeZeros(target: Uint8Array, at: number, count: number): number {
  for (let index = at; index < at + count; index += 1) target[index] = ZERO;
  return at + count;
}

/** Digits of a 31-bit integer. */
function digitCount(value: number): number {
  let count = 1;
  while (count < 10 && value >= (POWERS[count] as number)) count += 1;
  return count;
}

/** Far from one: subnormals and the largest. Slow and simple. */
function rareFloat32(magnitude: number): string {
  for (let digits = 1; digits < MAX_DIGITS; digits += 1) {
    const text = magnitude.toPrecision(digits);
    if (Math.fround(Number(text)) === magnitude) return String(Number(text));
  }
  return String(Number(magnitude.toPrecision(MAX_DIGITS)));
}
