import {
  GimbalError,
  isGimbalError,
  JsonScan,
  jsonPointerAt,
  nearestName,
  unreachable,
  type VersionSpec,
} from '@gimbal/core';
import { quoted } from '../front/call-headers.ts';
import type { EdgeLimits } from '../route.ts';
import { readImageItem, readTextItem } from './encoded-item.ts';
import { refuseField } from './field-refusal.ts';
import type { Item, ItemList, ReadyItem } from './item.ts';
import type { ItemMemory } from './item-memory.ts';
import { readTensorsItem } from './named-item.ts';
import type { ParameterList, ParameterName } from './parameters.ts';

/** How the members of a JSON body are called; the compatibility routes have names of their own. */
export interface JsonForm {
  /** Members that hold the one input. */
  readonly one: readonly string[];
  /** The member that holds a list of inputs. */
  readonly several: string | undefined;
  /** Members beside the input that are parameters. */
  readonly parameters: ReadonlyMap<string, MemberParameter>;
}

/** A parameter that stands beside the input, in units of its own. */
export interface MemberParameter {
  readonly name: ParameterName;
  /** The parameter's units in one of the member's. */
  readonly factor: number;
  readonly max: number;
  readonly expected: string;
}

export const NATIVE_FORM: JsonForm = { one: ['input'], several: 'inputs', parameters: new Map() };

/** Nesting that a list adds around each item. */
const LIST_DEPTH = 2;

export interface JsonIntake {
  readonly spec: VersionSpec;
  readonly memory: ItemMemory;
  readonly limits: EdgeLimits;
  readonly form: JsonForm;
  /** Receives what the body says; the query may have said something before. */
  readonly parameters: ParameterList;
}

export interface ParsedBody {
  readonly list: ItemList;
  readonly parameters: ParameterList;
}

/** Reads a whole JSON body in one pass: inputs go to arena memory as they are met. */
export function readJsonBody(body: Uint8Array, intake: JsonIntake): ParsedBody {
  const scan = new JsonScan(body, intake.limits.maxJsonDepth);
  const { parameters } = intake;
  let list: ItemList | undefined;
  scan.openObject();
  for (let key = scan.nextKey(); key !== undefined; key = scan.nextKey()) {
    if (intake.form.one.includes(key)) {
      if (list) throw secondInput(scan, key);
      list = { form: 'one', items: [readOnly(scan, intake)] };
    } else if (key === intake.form.several) {
      if (list) throw secondInput(scan, key);
      list = { form: 'several', items: readList(scan, intake) };
    } else readParameter(scan, key, { parameters, form: intake.form });
  }
  scan.finish();
  if (!list) throw noInput(intake.form);
  return { list, parameters };
}

function readOnly(scan: JsonScan, intake: JsonIntake): ReadyItem {
  const item = readItem(scan, intake);
  intake.memory.keep();
  return item;
}

/** Items of a list. One that can't be used is passed over and answered by itself; broken syntax ends the request. */
function readList(scan: JsonScan, intake: JsonIntake): readonly Item[] {
  const { limits, memory } = intake;
  const items: Item[] = [];
  scan.openArray();
  while (scan.nextItem()) {
    if (items.length === limits.maxInputs) throw tooManyInputs(limits.maxInputs);
    scan.next();
    // A scan of its own: when it stops in the middle of an item, the outer one still knows where the item began.
    const ahead = new JsonScan(scan.bytes, limits.maxJsonDepth - LIST_DEPTH);
    ahead.at = scan.at;
    try {
      items.push(readItem(ahead, intake));
      memory.keep();
      scan.at = ahead.at;
    } catch (error) {
      memory.drop();
      if (!isGimbalError(error)) throw error;
      scan.skip();
      items.push({ ok: false, error });
    }
  }
  if (items.length === 0) {
    throw refuseField('use the inputs', {
      pointer: jsonPointerAt(scan.bytes, scan.at - 1),
      expected: 'at least one input',
      received: 'an empty list',
    });
  }
  return items;
}

/** One input by the version's task. */
export function readItem(scan: JsonScan, { spec, memory }: JsonIntake): ReadyItem {
  switch (spec.task) {
    case 'tabular':
    case 'tensor':
      return readTensorsItem(scan, spec, memory);
    case 'image-classification':
    case 'object-detection':
      return readImageItem(scan, memory);
    case 'text-embedding':
    case 'text-classification':
      return readTextItem(scan, memory);
    default:
      return unreachable(spec.task);
  }
}

interface ParameterPlace {
  readonly parameters: ParameterList;
  readonly form: JsonForm;
}

function readParameter(scan: JsonScan, key: string, { parameters, form }: ParameterPlace): void {
  if (key === 'parameters') {
    parameters.readObject(scan, '/parameters');
    return;
  }
  const known = form.parameters.get(key);
  if (!known) throw unknownMember(key, form);
  const { name, factor, max, expected } = known;
  if (scan.kind() !== 'number') throw scan.kindError(expected);
  const value = scan.number();
  const pointer = `/${key}`;
  if (value > max) throw refuseField(`use "${key}"`, { pointer, expected, received: String(value) });
  parameters.set(name, value * factor, pointer);
}

function unknownMember(key: string, form: JsonForm): GimbalError {
  const names = [
    ...form.one,
    ...(form.several ? [form.several] : []),
    'parameters',
    ...form.parameters.keys(),
  ];
  const near = nearestName(key, names);
  return refuseField('use the body', {
    pointer: `/${key.slice(0, 64).replaceAll('~', '~0').replaceAll('/', '~1')}`,
    expected: `the members ${names.map((name) => `"${name}"`).join(', ')}`,
    received: quoted(key),
    ...(near === undefined ? {} : { hint: `did you mean "${near}"?` }),
  });
}

function secondInput(scan: JsonScan, key: string): GimbalError {
  return refuseField('use the body', {
    pointer: jsonPointerAt(scan.bytes, scan.at),
    expected: 'one member with the input or inputs',
    received: `${quoted(key)} as well`,
  });
}

function noInput(form: JsonForm): GimbalError {
  const names = [...form.one, ...(form.several ? [form.several] : [])]
    .map((name) => `"${name}"`)
    .join(' or ');
  return refuseField('use the body', { pointer: '', expected: `a member ${names}`, received: 'none' });
}

export function tooManyInputs(maxInputs: number): GimbalError {
  return new GimbalError(
    'INPUT_TOO_LARGE',
    `Cannot use the inputs: expected at most ${maxInputs} in one request; send several requests`,
  );
}
