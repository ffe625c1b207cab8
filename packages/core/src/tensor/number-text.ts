/** Most bytes that one number takes: sign, 17 digits, point, exponent; or a 64-bit integer. */
export const MAX_NUMBER_BYTES = 32;

/** Significant digits: seven are tried first, since few float32 have fewer and all have at most nine. */
const USUAL_DIGITS = 7;
const MAX_DIGITS = 9;

/** Powers of ten up to the last that a double holds exactly. */
const MAX_EXACT_POWER = 22;
const POWERS = Float64Array.from({ length: MAX_EXACT_POWER + 1 }, (_, exponent) => Number(`1e${exponent}`));

/** Decimal exponents written without `e`, as JavaScript does. */
const MIN_PLAIN_EXPONENT = -6;
const MAX_PLAIN_EXPONENT = 20;

/** Decimal exponents of float32 values that are scaled by exact powers only. */
const MIN_SCALED_EXPONENT = MAX_DIGITS - 1 - MAX_EXACT_POWER;
const MAX_SCALED_EXPONENT = MAX_EXACT_POWER;
/** 10^exponent, from MIN_SCALED_EXPONENT on: where the next decimal exponent begins. */
const BEGINNINGS = Float64Array.from({ length: MAX_SCALED_EXPONENT - MIN_SCALED_EXPONENT + 2 }, (_, index) =>
  Number(`1e${index + MIN_SCALED_EXPONENT}`),
);

const MAX_SMALL_INTEGER = 0x7fffffff;

const ZERO = 0x30;
const POINT = 0x2e;
const MINUS = 0x2d;

/** With its fraction: readers that tell integers from floats (Python) would lose the sign of `-0`. */
const ZERO_TEXT = '0.0';
const SCRATCH = new Float32Array(1);
const SCRATCH_BITS = new Uint32Array(SCRATCH.buffer);

/**
 * Writes the shortest decimal that reads back as the same float32, as ASCII at `at`, and returns where it ends. `value`
 * is finite. Room for MAX_NUMBER_BYTES is the caller's promise.
 *
 * `String(value)` would print the 17 digits of the double that the float32 was widened to. Here a candidate of n digits is
 * an integer got by one multiplication or division with an exact power of ten; it is right when scaling it back rounds to
 * the value, which is checked, so an error in the candidate can only cost a digit, never a wrong number.
 */
export function writeFloat32(target: Uint8Array, at: number, value: number): number {
  if (value === (value | 0) && !Object.is(value, -0) && value < 1e7 && value > -1e7) {
    return writeInteger(target, at, value);
  }
  let to = at;
  if (value < 0 || Object.is(value, -0)) {
    target[to] = MINUS;
    to += 1;
  }
  const magnitude = Math.abs(value);
  if (magnitude === 0) return writeAscii(target, to, ZERO_TEXT);
  const exponent = decimalExponent(magnitude);
  if (exponent < MIN_SCALED_EXPONENT || exponent > MAX_SCALED_EXPONENT) {
    return writeAscii(target, to, rareFloat32(magnitude));
  }
  let decimals = USUAL_DIGITS - 1 - exponent;
  let candidate = Math.round(scale(magnitude, decimals));
  for (let digits = USUAL_DIGITS; digits < MAX_DIGITS; digits += 1) {
    if (Math.fround(scale(candidate, -decimals)) === magnitude) break;
    decimals += 1;
    candidate = Math.round(scale(magnitude, decimals));
  }
  if (decimals === USUAL_DIGITS - 1 - exponent) {
    // Seven digits do: six may. Fewer than six show themselves as zeros at the end.
    const shorter = Math.round(scale(magnitude, decimals - 1));
    if (Math.fround(scale(shorter, 1 - decimals)) === magnitude) {
      decimals -= 1;
      candidate = shorter;
    }
  }
  return writeDecimal(target, to, candidate, decimals);
}

/** Writes the shortest decimal of a finite double. */
export function writeFloat64(target: Uint8Array, at: number, value: number): number {
  if (Object.is(value, -0)) return writeAscii(target, at, `-${ZERO_TEXT}`);
  if (value === (value | 0)) return writeInteger(target, at, value);
  return writeAscii(target, at, String(value));
}

/** Writes a safe integer as ASCII and returns where it ends. */
export function writeInteger(target: Uint8Array, at: number, value: number): number {
  if (value < 0) {
    target[at] = MINUS;
    return writeInteger(target, at + 1, -value);
  }
  if (value > MAX_SMALL_INTEGER) return writeAscii(target, at, String(value));
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
 * comparison. Outside the table any exponent outside will do.
 */
function decimalExponent(magnitude: number): number {
  SCRATCH[0] = magnitude;
  const binaryExponent = ((SCRATCH_BITS[0] as number) >>> 23) - 127;
  const estimate = (binaryExponent * 1233) >> 12;
  const next = BEGINNINGS[estimate + 1 - MIN_SCALED_EXPONENT];
  return next !== undefined && magnitude >= next ? estimate + 1 : estimate;
}

/** `digits` × 10^-`decimals`, zeros at the end dropped. `digits` has at most nine digits and is not 0. */
function writeDecimal(target: Uint8Array, at: number, digits: number, decimals: number): number {
  let significand = digits | 0;
  let places = decimals;
  while (significand % 10 === 0) {
    significand = (significand / 10) | 0;
    places -= 1;
  }
  const count = digitCount(significand);
  const exponent = count - 1 - places;
  if (exponent < MIN_PLAIN_EXPONENT || exponent > MAX_PLAIN_EXPONENT) {
    const end =
      count === 1
        ? writeDigits(target, at, significand, 1)
        : writePointed(target, at, { significand, count, whole: 1 });
    return writeInteger(target, writeAscii(target, end, exponent < 0 ? 'e' : 'e+'), exponent);
  }
  if (places <= 0) return writeZeros(target, writeDigits(target, at, significand, count), -places);
  if (exponent >= 0) return writePointed(target, at, { significand, count, whole: count - places });
  target[at] = ZERO;
  target[at + 1] = POINT;
  return writeDigits(target, writeZeros(target, at + 2, -exponent - 1), significand, count);
}

/** Digits with a point after the first `whole` of them. */
function writePointed(
  target: Uint8Array,
  at: number,
  { significand, count, whole }: { significand: number; count: number; whole: number },
): number {
  const end = writeDigits(target, at + 1, significand, count);
  for (let index = at; index < at + whole; index += 1) target[index] = target[index + 1] as number;
  target[at + whole] = POINT;
  return end;
}

function writeDigits(target: Uint8Array, at: number, value: number, count: number): number {
  let rest = value | 0;
  for (let place = at + count - 1; place >= at; place -= 1) {
    const quotient = (rest / 10) | 0;
    target[place] = ZERO + (rest - quotient * 10);
    rest = quotient;
  }
  return at + count;
}

function writeZeros(target: Uint8Array, at: number, count: number): number {
  for (let index = at; index < at + count; index += 1) target[index] = ZERO;
  return at + count;
}

function digitCount(value: number): number {
  if (value < 100000) {
    if (value < 100) return value < 10 ? 1 : 2;
    if (value < 10000) return value < 1000 ? 3 : 4;
    return 5;
  }
  if (value < 10000000) return value < 1000000 ? 6 : 7;
  if (value < 1000000000) return value < 100000000 ? 8 : 9;
  return 10;
}

/** Far from one: subnormals and the largest. Slow and simple. */
function rareFloat32(magnitude: number): string {
  for (let digits = 1; digits < MAX_DIGITS; digits += 1) {
    const text = magnitude.toPrecision(digits);
    if (Math.fround(Number(text)) === magnitude) return String(Number(text));
  }
  return String(Number(magnitude.toPrecision(MAX_DIGITS)));
}
