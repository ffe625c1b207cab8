import { byteSizeOf, type Datatype, elementCount, type VersionSpec } from '@gimbal/core';

/** What an input of the signature asks of one item, worked out once for each version. */
export interface TensorPlan {
  readonly name: string;
  readonly datatype: Datatype;
  /** Whether axis 0 of the model's input is the batch axis, which an item need not have. */
  readonly batches: boolean;
  /** The shape of one item: without the batch axis when there is one. -1 where a length is free. */
  readonly itemShape: readonly number[];
  /** Elements of one item; undefined when an axis is free. */
  readonly itemCount: number | undefined;
  /** Bytes of one element; 0 for BYTES. */
  readonly elementBytes: number;
  /** The shape that reaches the model for a single item, when no axis is free. */
  readonly rowShape: readonly number[];
}

const plans = new WeakMap<VersionSpec, readonly TensorPlan[]>();

/** Index-aligned with the signature's inputs. */
export function tensorPlans(spec: VersionSpec): readonly TensorPlan[] {
  const known = plans.get(spec);
  if (known) return known;
  const batches = spec.signature.batchAxis === 'dynamic';
  const made = spec.signature.inputs.map(({ name, datatype, shape }) => {
    const itemShape = batches ? shape.slice(1) : shape;
    const isFree = itemShape.some((length) => length < 0);
    return {
      name,
      datatype,
      batches,
      itemShape,
      itemCount: isFree ? undefined : elementCount(itemShape),
      elementBytes: byteSizeOf(datatype),
      rowShape: batches ? [1, ...itemShape] : itemShape,
    };
  });
  plans.set(spec, made);
  return made;
}

/**
 * The shape that reaches the model when `count` elements came in arrays of lengths `nesting`: nested as the item, nested
 * with the batch axis in front, flat, or a bare scalar. Undefined when none of these fits.
 */
export function resolveShape(
  plan: TensorPlan,
  { count, nesting }: { readonly count: number; readonly nesting: readonly number[] },
): readonly number[] | undefined {
  const { itemShape, batches } = plan;
  const rank = itemShape.length;
  if (nesting.length === rank && fits(itemShape, nesting, 0)) return batches ? [1, ...nesting] : nesting;
  if (batches && nesting.length === rank + 1 && (nesting[0] ?? 0) > 0 && fits(itemShape, nesting, 1)) {
    return nesting;
  }
  if (nesting.length > 1) return undefined;
  const filled = fillFreeAxis(itemShape, count);
  return filled && (batches ? [1, ...filled] : filled);
}

/** The item's shape with its only free axis, if any, made long enough for `count` elements. */
export function fillFreeAxis(itemShape: readonly number[], count: number): readonly number[] | undefined {
  let fixed = 1;
  let free = 0;
  for (const length of itemShape) {
    if (length < 0) free += 1;
    else fixed *= length;
  }
  if (free === 0) return fixed === count ? itemShape : undefined;
  if (free > 1 || fixed === 0 || count % fixed !== 0) return undefined;
  return itemShape.map((length) => (length < 0 ? count / fixed : length));
}

function fits(itemShape: readonly number[], nesting: readonly number[], skipped: number): boolean {
  for (let axis = 0; axis < itemShape.length; axis += 1) {
    const length = itemShape[axis] as number;
    if (length >= 0 && length !== nesting[axis + skipped]) return false;
  }
  return true;
}
