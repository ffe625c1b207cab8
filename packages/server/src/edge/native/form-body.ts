import { type GimbalError, isGimbalError, JsonScan, nearestName, type VersionSpec } from '@gimbal/core';
import { takesImages, takesTexts } from '../front/accepted-types.ts';
import { quoted } from '../front/call-headers.ts';
import type { EdgeLimits } from '../route.ts';
import { refuseField } from './field-refusal.ts';
import type { Item } from './item.ts';
import type { ItemMemory } from './item-memory.ts';
import { type JsonIntake, NATIVE_FORM, type ParsedBody, readItem, tooManyInputs } from './json-body.ts';
import { type FormPart, parseForm } from './multipart.ts';
import { PARAMETER_NAMES, type ParameterList, type ParameterName } from './parameters.ts';
import { rawItem } from './raw-item.ts';

const FILE_NAMES = ['image', 'images', 'image[]', 'file', 'files', 'file[]'];
const TEXT_NAMES = ['text', 'texts', 'text[]'];
const INPUT_NAME = 'input';

export interface FormIntake {
  readonly spec: VersionSpec;
  readonly memory: ItemMemory;
  readonly limits: EdgeLimits;
  readonly boundary: string;
  readonly parameters: ParameterList;
}

/** Reads a form: files or texts are inputs, `input` is JSON, `parameters` or single fields are parameters. */
export function readFormBody(body: Uint8Array, intake: FormIntake): ParsedBody {
  const { limits, parameters } = intake;
  const maxParts = limits.maxInputs + PARAMETER_NAMES.length + 1;
  const items: Item[] = [];
  for (const part of parseForm(body, intake.boundary, { maxParts })) {
    if (readParameters(part, parameters, limits)) continue;
    if (items.length === limits.maxInputs) throw tooManyInputs(limits.maxInputs);
    items.push(readPart(part, intake));
  }
  const [only] = items;
  if (!only) {
    throw refuseField('use the form', {
      pointer: '',
      expected: `a part ${inputNames(intake.spec)[0]}`,
      received: 'none',
    });
  }
  if (items.length > 1) return { list: { form: 'several', items }, parameters };
  if (!only.ok) throw only.error;
  return { list: { form: 'one', items }, parameters };
}

/** True when the part was about parameters. */
function readParameters({ name, content }: FormPart, parameters: ParameterList, limits: EdgeLimits): boolean {
  if (name === 'parameters') {
    const scan = new JsonScan(content, limits.maxJsonDepth);
    parameters.readObject(scan, '/parameters');
    scan.finish();
    return true;
  }
  if (!isParameterName(name)) return false;
  parameters.setText(name, Buffer.from(content).toString('utf8'), `/${name}`);
  return true;
}

function isParameterName(name: string): name is ParameterName {
  return (PARAMETER_NAMES as readonly string[]).includes(name);
}

/** One input; what is wrong with it stays with it. */
function readPart(part: FormPart, intake: FormIntake): Item {
  const { spec, memory, limits } = intake;
  requireKnownName(part.name, spec);
  try {
    const item =
      part.name === INPUT_NAME
        ? readJsonPart(part, { spec, memory, limits, form: NATIVE_FORM, parameters: intake.parameters })
        : rawItem(takesImages(spec.task) ? 'image' : 'text', memory.hold(part.content), spec);
    memory.keep();
    return item;
  } catch (error) {
    memory.drop();
    if (!isGimbalError(error) || error.code === 'MALFORMED_REQUEST') throw error;
    return { ok: false, error };
  }
}

function readJsonPart(part: FormPart, intake: JsonIntake): Item {
  const scan = new JsonScan(part.content, intake.limits.maxJsonDepth);
  const item = readItem(scan, intake);
  scan.finish();
  return item;
}

function requireKnownName(name: string, spec: VersionSpec): void {
  const names = inputNames(spec);
  if (names.includes(name)) return;
  throw unknownPart(name, [...names, 'parameters', ...PARAMETER_NAMES]);
}

function inputNames({ task }: VersionSpec): readonly string[] {
  if (takesImages(task)) return [...FILE_NAMES, INPUT_NAME];
  return takesTexts(task) ? [...TEXT_NAMES, INPUT_NAME] : [INPUT_NAME];
}

function unknownPart(name: string, names: readonly string[]): GimbalError {
  const near = nearestName(name, names);
  return refuseField('use the form', {
    pointer: `/${name.slice(0, 64).replaceAll('~', '~0').replaceAll('/', '~1')}`,
    expected: `parts ${names.map((known) => `"${known}"`).join(', ')}`,
    received: quoted(name),
    ...(near === undefined ? {} : { hint: `did you mean "${near}"?` }),
  });
}
