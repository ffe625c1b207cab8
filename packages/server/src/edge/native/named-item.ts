import {
  type FieldError,
  type GimbalError,
  type JsonScan,
  jsonPointerAt,
  nearestName,
  readJsonTensor,
  type TensorInput,
  type VersionSpec,
} from '@gimbal/core';
import { quoted } from '../front/call-headers.ts';
import { refuseField } from './field-refusal.ts';
import type { ReadyItem } from './item.ts';
import type { ItemMemory } from './item-memory.ts';
import { type ReadTensor, readTensorItem } from './tensor-item.ts';
import { type TensorPlan, tensorPlans } from './tensor-plan.ts';

/** Names that a message lists. */
const MAX_LISTED = 12;

/** A tabular or tensor item: an array for a single input, or an object by input name or by column name. */
export function readTensorsItem(scan: JsonScan, spec: VersionSpec, memory: ItemMemory): ReadyItem {
  const plans = tensorPlans(spec);
  const [first] = plans;
  if (scan.kind() === 'object') {
    const isTable = spec.columns !== undefined && plans.length === 1 && first !== undefined;
    if (isTable && !namesInput(scan, first.name)) {
      return readColumns(scan, { plan: first, columns: spec.columns }, memory);
    }
    return readByName(scan, plans, memory);
  }
  if (plans.length !== 1 || first === undefined) {
    throw refuseField('use the input', {
      pointer: jsonPointerAt(scan.bytes, scan.at),
      expected: `an object with the members ${listed(plans.map((plan) => plan.name))}`,
      received: `a ${scan.kind()}`,
      hint: `the model has ${plans.length} inputs: give each by its name`,
    });
  }
  const { tensor, rows } = readTensorItem(scan, first, memory);
  return { ok: true, input: { kind: 'tensors', tensors: [tensor] }, rows };
}

/** Whether the object ahead begins with a member of that name. */
function namesInput(scan: JsonScan, name: string): boolean {
  const start = scan.at;
  const text = JSON.stringify(name);
  let at = start + 1;
  while (at < scan.bytes.length && (scan.bytes[at] as number) <= 0x20) at += 1;
  for (let index = 0; index < text.length; index += 1) {
    if (scan.bytes[at + index] !== text.charCodeAt(index)) return false;
  }
  return true;
}

function readByName(scan: JsonScan, plans: readonly TensorPlan[], memory: ItemMemory): ReadyItem {
  const start = scan.at;
  const read: (ReadTensor | undefined)[] = plans.map(() => undefined);
  scan.openObject();
  for (let key = scan.nextKey(); key !== undefined; key = scan.nextKey()) {
    const index = plans.findIndex((plan) => plan.name === key);
    const plan = plans[index];
    if (!plan) throw unknownName(scan, key, { what: 'input', names: plans.map(({ name }) => name) });
    if (read[index]) throw twice(scan, key);
    read[index] = readTensorItem(scan, plan, memory);
  }
  const tensors: TensorInput[] = [];
  let rows: number | undefined;
  plans.forEach((plan, index) => {
    const one = read[index];
    if (!one) throw missing(scan, start, [plan.name]);
    tensors.push(one.tensor);
    rows ??= one.rows;
    if (one.rows !== rows) throw unevenRows(scan, start, { plan, rows: one.rows, expected: rows });
  });
  return { ok: true, input: { kind: 'tensors', tensors }, rows: rows ?? 1 };
}

interface ColumnPlan {
  readonly plan: TensorPlan;
  readonly columns: readonly string[];
}

/** One row by column names, each value read straight into its place. */
function readColumns(scan: JsonScan, { plan, columns }: ColumnPlan, memory: ItemMemory): ReadyItem {
  const start = scan.at;
  const { elementBytes, datatype } = plan;
  if (elementBytes === 0 || plan.itemCount !== columns.length) {
    throw refuseField('use the input', {
      pointer: jsonPointerAt(scan.bytes, start),
      expected: 'an array',
      received: 'an object',
      hint: 'columns by name are for models with one number for each column',
    });
  }
  const block = memory.reserve(columns.length * elementBytes);
  const seen = new Set<string>();
  scan.openObject();
  for (let key = scan.nextKey(); key !== undefined; key = scan.nextKey()) {
    const index = columns.indexOf(key);
    if (index < 0) throw unknownName(scan, key, { what: 'column', names: columns });
    if (seen.has(key)) throw twice(scan, key);
    seen.add(key);
    const destination = block.bytes.subarray(index * elementBytes, (index + 1) * elementBytes);
    const read = readJsonTensor(scan, { name: key, datatype, maxElements: 1, destination, halves: 'round' });
    if (read.count !== 1) throw scan.kindError('a number');
  }
  const absent = columns.filter((column) => !seen.has(column));
  if (absent.length > 0) throw missing(scan, start, absent);
  return {
    ok: true,
    input: { kind: 'tensors', tensors: [{ span: block.span, shape: plan.rowShape }] },
    rows: 1,
  };
}

function unknownName(
  scan: JsonScan,
  key: string,
  { what, names }: { readonly what: string; readonly names: readonly string[] },
): GimbalError {
  const near = nearestName(key, names);
  const field: FieldError = {
    pointer: jsonPointerAt(scan.bytes, scan.at),
    expected: `one of ${listed(names)}`,
    received: quoted(key),
    ...(near === undefined ? {} : { hint: `did you mean ${quoted(near)}?` }),
  };
  return refuseField(`use ${what} ${quoted(key)}`, field);
}

function missing(scan: JsonScan, start: number, names: readonly string[]): GimbalError {
  return refuseField('use the input', {
    pointer: jsonPointerAt(scan.bytes, start),
    expected: `the members ${listed(names)} too`,
    received: 'an object without them',
  });
}

function twice(scan: JsonScan, key: string): GimbalError {
  return refuseField('use the input', {
    pointer: jsonPointerAt(scan.bytes, scan.at),
    expected: 'each member once',
    received: `${quoted(key)} twice`,
  });
}

function unevenRows(
  scan: JsonScan,
  start: number,
  { plan, rows, expected }: { readonly plan: TensorPlan; readonly rows: number; readonly expected: number },
): GimbalError {
  return refuseField(`use input "${plan.name}"`, {
    pointer: jsonPointerAt(scan.bytes, start),
    expected: `${expected} rows, as in the inputs before`,
    received: `${rows}`,
  });
}

function listed(names: readonly string[]): string {
  const shown = names.slice(0, MAX_LISTED).map((name) => JSON.stringify(name));
  const rest = names.length - shown.length;
  return rest > 0 ? `${shown.join(', ')} and ${rest} more` : shown.join(', ');
}
