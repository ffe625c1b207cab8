import type { FieldError } from '../errors/gimbal-error.ts';
import { byteSizeOf, type Datatype } from './datatype.ts';

/** More axes than any model has; a longer shape is an attack or a mistake. */
export const MAX_AXES = 32;

/** What a shape is checked against: an input of a signature, -1 where a length is free. */
export interface ExpectedShape {
  readonly name: string;
  readonly shape: readonly number[];
}

/** Elements of a shape; undefined when an axis is not a length or the product is past what a number can count. */
export function elementCount(shape: readonly number[]): number | undefined {
  let isEmpty = false;
  let count = 1;
  for (const length of shape) {
    if (!Number.isSafeInteger(length) || length < 0) return undefined;
    if (length === 0) isEmpty = true;
    else count *= length;
    if (count > Number.MAX_SAFE_INTEGER) return undefined;
  }
  return isEmpty ? 0 : count;
}

/** Bytes of a tensor of fixed-size elements; undefined when they can't be counted. BYTES tensors know their own size. */
export function tensorByteLength(datatype: Datatype, shape: readonly number[]): number | undefined {
  const count = elementCount(shape);
  if (count === undefined) return undefined;
  const byteLength = count * byteSizeOf(datatype);
  return Number.isSafeInteger(byteLength) ? byteLength : undefined;
}

/** True when every axis has the expected length or a free one. */
export function shapeFits(expected: readonly number[], received: readonly number[]): boolean {
  if (expected.length !== received.length) return false;
  for (let axis = 0; axis < expected.length; axis += 1) {
    const length = expected[axis];
    if (length !== -1 && length !== received[axis]) return false;
  }
  return true;
}

/**
 * What is wrong with a shape, for people: expected, received, the first axis that differs and how to mend it. Undefined
 * when the shape fits.
 */
export function shapeMismatch(
  input: ExpectedShape,
  received: readonly number[],
  pointer: string,
): FieldError | undefined {
  if (shapeFits(input.shape, received)) return undefined;
  return {
    pointer,
    expected: formatShape(input.shape),
    received: formatShape(received),
    hint: hintFor(input.shape, received),
  };
}

/** The sentence of a mismatch. */
export function describeMismatch(input: ExpectedShape, { expected, received, hint }: FieldError): string {
  return `Cannot use input "${input.name}": its shape does not fit the model, expected ${expected}, got ${received}; ${hint ?? ''}`;
}

/** `[-1, 3, 224, 224]`, as Python and the metadata write it. */
export function formatShape(shape: readonly number[]): string {
  return `[${shape.join(', ')}]`;
}

function hintFor(expected: readonly number[], received: readonly number[]): string {
  if (expected.length !== received.length) return rankHint(expected, received);
  const axis = expected.findIndex((length, index) => length !== -1 && length !== received[index]);
  const difference = `axis ${axis} must be ${expected[axis]} and is ${received[axis]}`;
  const order = transposition(expected, received);
  if (order) return `${difference}: the axes look transposed, send them in the order [${order.join(', ')}]`;
  return `${difference}: give axis ${axis} length ${expected[axis]}`;
}

function rankHint(expected: readonly number[], received: readonly number[]): string {
  const axes = `${expected.length} ${expected.length === 1 ? 'axis is' : 'axes are'} expected and ${received.length} came`;
  if (expected.length === received.length + 1 && shapeFits(expected.slice(1), received)) {
    const batch = expected[0] === -1 ? 1 : expected[0];
    return `${axes}: add a first axis, ${formatShape([batch ?? 1, ...received])}`;
  }
  if (received.length === expected.length + 1 && shapeFits(expected, received.slice(1))) {
    return `${axes}: send it without the first axis, ${formatShape(received.slice(1))}`;
  }
  return `${axes}: reshape it to ${formatShape(expected)}`;
}

/** The order of the received axes that fits, when it is an image with its channels at the other end. */
function transposition(expected: readonly number[], received: readonly number[]): number[] | undefined {
  if (received.length !== 4) return undefined;
  for (const order of [
    [0, 3, 1, 2],
    [0, 2, 3, 1],
  ]) {
    if (
      shapeFits(
        expected,
        order.map((axis) => received[axis] ?? -1),
      )
    ) {
      return order;
    }
  }
  return undefined;
}
