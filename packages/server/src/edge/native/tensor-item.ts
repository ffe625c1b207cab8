import {
  describeMismatch,
  GimbalError,
  type JsonScan,
  type JsonTensor,
  jsonPointerAt,
  readJsonTensor,
  shapeMismatch,
  type TensorInput,
} from '@gimbal/core';
import type { ItemMemory } from './item-memory.ts';
import { resolveShape, type TensorPlan } from './tensor-plan.ts';

const OPEN_ARRAY = 0x5b;
const SPACE = 0x20;

export interface ReadTensor {
  readonly tensor: TensorInput;
  readonly rows: number;
}

/** Reads the JSON value ahead into arena memory: in place when its size is known, else by way of the parser's buffer. */
export function readTensorItem(scan: JsonScan, plan: TensorPlan, memory: ItemMemory): ReadTensor {
  scan.next();
  const { itemCount, itemShape, elementBytes } = plan;
  const depth = bracketsAhead(scan.bytes, scan.at, itemShape.length + 1);
  const isSeveralRows = plan.batches && depth === itemShape.length + 1;
  if (itemCount !== undefined && elementBytes > 0 && !isSeveralRows) {
    return readInPlace(scan, { plan, memory, itemCount });
  }
  return readAndCopy(scan, plan, memory);
}

interface PlacedReading {
  readonly plan: TensorPlan;
  readonly memory: ItemMemory;
  readonly itemCount: number;
}

function readInPlace(scan: JsonScan, { plan, memory, itemCount }: PlacedReading): ReadTensor {
  const start = scan.at;
  const { name, datatype } = plan;
  const block = memory.reserve(itemCount * plan.elementBytes);
  const read = readJsonTensor(scan, {
    name,
    datatype,
    maxElements: itemCount,
    destination: block.bytes,
    halves: 'round',
  });
  if (read.count !== itemCount) throw misfit(scan, start, { plan, read });
  // Flat is always right when the count is: only nesting needs to be looked at.
  const shape = read.nesting.length <= 1 ? plan.rowShape : resolveShape(plan, read);
  if (!shape) throw misfit(scan, start, { plan, read });
  return { tensor: { span: block.span, shape }, rows: 1 };
}

function readAndCopy(scan: JsonScan, plan: TensorPlan, memory: ItemMemory): ReadTensor {
  const start = scan.at;
  const { name, datatype } = plan;
  // Every element takes at least a byte of the text, whose size is limited.
  const maxElements = scan.bytes.length;
  const read = readJsonTensor(scan, { name, datatype, maxElements, destination: undefined, halves: 'round' });
  const shape = resolveShape(plan, read);
  if (!shape) throw misfit(scan, start, { plan, read });
  const block = memory.hold(read.bytes);
  return { tensor: { span: block.span, shape }, rows: plan.batches ? (shape[0] ?? 1) : 1 };
}

/** Opening brackets from `at` on; counting ends at `most`. */
function bracketsAhead(bytes: Uint8Array, at: number, most: number): number {
  let depth = 0;
  for (let index = at; index < bytes.length && depth < most; index += 1) {
    const byte = bytes[index] as number;
    if (byte === OPEN_ARRAY) depth += 1;
    else if (byte > SPACE) break;
  }
  return depth;
}

function misfit(
  scan: JsonScan,
  start: number,
  { plan, read }: { readonly plan: TensorPlan; readonly read: JsonTensor },
): GimbalError {
  const expected = { name: plan.name, shape: plan.itemShape };
  const pointer = jsonPointerAt(scan.bytes, start);
  const field = shapeMismatch(expected, read.nesting, pointer);
  if (field) return new GimbalError('INVALID_INPUT', describeMismatch(expected, field), { fields: [field] });
  return new GimbalError(
    'INVALID_INPUT',
    `Cannot use input "${plan.name}": its shape does not fit the model`,
    {
      fields: [{ pointer, expected: `[${plan.itemShape}]`, received: `[${read.nesting}]` }],
    },
  );
}
