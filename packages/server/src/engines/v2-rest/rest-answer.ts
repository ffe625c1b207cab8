import { elementCount, isDatatype, isGimbalError, JsonScan, MAX_AXES, readJsonTensor } from '@gimbal/core';
import type { RemoteAnswer, RemoteOutput } from '../channel.ts';
import { PeerFailure } from '../peer-failure.ts';

/** Deeper than any answer with its tensors nested. */
const MAX_DEPTH = MAX_AXES + 8;
/** Outputs of one answer; models have a few. */
const MAX_OUTPUTS = 256;

interface OutputHead {
  name: string;
  datatype: string;
  shape: number[];
  /** Of the raw bytes after the JSON; undefined: the elements are in the JSON. */
  binaryBytes: number | undefined;
  /** Where they are in the JSON. */
  dataAt: number | undefined;
}

/** The outputs in the body of an inference answer. Throws a `garbage` failure for whatever is not one. */
export function readRestAnswer(body: Uint8Array, jsonBytes: number | undefined): RemoteAnswer {
  if (
    jsonBytes !== undefined &&
    !(Number.isInteger(jsonBytes) && jsonBytes >= 0 && jsonBytes <= body.length)
  ) {
    throw garbage(`its JSON is told to be ${jsonBytes} bytes of ${body.length}`);
  }
  const json = jsonBytes === undefined ? body : body.subarray(0, jsonBytes);
  try {
    return placeOutputs(readHeads(json), { json, raw: body.subarray(json.length) });
  } catch (error) {
    if (!isGimbalError(error)) throw error;
    throw new PeerFailure('garbage', `the remote engine's answer can not be read: ${error.message}`, {
      cause: error,
    });
  }
}

function placeOutputs(
  heads: readonly OutputHead[],
  { json, raw }: { json: Uint8Array; raw: Uint8Array },
): RemoteAnswer {
  const outputs: RemoteOutput[] = [];
  let at = 0;
  for (const { name, datatype, shape, binaryBytes, dataAt } of heads) {
    if (binaryBytes !== undefined) {
      if (!(Number.isInteger(binaryBytes) && binaryBytes >= 0 && binaryBytes <= raw.length - at)) {
        throw garbage(
          `the output ${JSON.stringify(name)} is told to be ${binaryBytes} bytes, ${raw.length - at} are left`,
        );
      }
      outputs.push({ name, datatype, shape, bytes: raw.subarray(at, at + binaryBytes) });
      at += binaryBytes;
    } else if (dataAt === undefined) throw garbage(`the output ${JSON.stringify(name)} has no data`);
    else outputs.push({ name, datatype, shape, bytes: elementsAt(json, dataAt, { name, datatype, shape }) });
  }
  if (at !== raw.length) throw garbage(`${raw.length - at} bytes follow its last output`);
  return outputs;
}

function elementsAt(
  json: Uint8Array,
  at: number,
  { name, datatype, shape }: { name: string; datatype: string; shape: readonly number[] },
): Uint8Array {
  const count = elementCount(shape);
  if (!isDatatype(datatype)) throw garbage(`the output ${JSON.stringify(name)} is of an unknown datatype`);
  // Each element is a byte of JSON at least: no answer makes us take more memory than it has itself.
  if (count === undefined || count > json.length) {
    throw garbage(
      `the output ${JSON.stringify(name)} has fewer elements than its shape [${shape.join(', ')}]`,
    );
  }
  const scan = new JsonScan(json, MAX_DEPTH);
  scan.at = at;
  const tensor = readJsonTensor(scan, {
    name,
    datatype,
    maxElements: count,
    destination: undefined,
    halves: 'round',
  });
  if (tensor.count !== count) {
    throw garbage(`the output ${JSON.stringify(name)} has ${tensor.count} elements, expected ${count}`);
  }
  return tensor.bytes.slice();
}

function readHeads(json: Uint8Array): OutputHead[] {
  const scan = new JsonScan(json, MAX_DEPTH);
  let heads: OutputHead[] | undefined;
  scan.openObject();
  for (let key = scan.nextKey(); key !== undefined; key = scan.nextKey()) {
    if (key === 'outputs') heads = readOutputs(scan);
    else scan.skip();
  }
  scan.finish();
  if (heads === undefined) throw garbage('it has no "outputs"');
  return heads;
}

function readOutputs(scan: JsonScan): OutputHead[] {
  const heads: OutputHead[] = [];
  scan.openArray();
  while (scan.nextItem()) {
    if (heads.length === MAX_OUTPUTS) throw garbage(`it has more than ${MAX_OUTPUTS} outputs`);
    heads.push(readOutput(scan));
  }
  return heads;
}

function readOutput(scan: JsonScan): OutputHead {
  const head: OutputHead = { name: '', datatype: '', shape: [], binaryBytes: undefined, dataAt: undefined };
  scan.openObject();
  for (let key = scan.nextKey(); key !== undefined; key = scan.nextKey()) {
    if (key === 'name') head.name = scan.string();
    else if (key === 'datatype') head.datatype = scan.string();
    else if (key === 'shape') head.shape = readShape(scan);
    else if (key === 'parameters' && scan.kind() === 'object') head.binaryBytes = readBinarySize(scan);
    else if (key === 'data') {
      scan.next();
      head.dataAt = scan.at;
      scan.skip();
    } else scan.skip();
  }
  return head;
}

function readShape(scan: JsonScan): number[] {
  const shape: number[] = [];
  scan.openArray();
  while (scan.nextItem()) {
    if (shape.length === MAX_AXES) throw garbage(`a shape has more than ${MAX_AXES} axes`);
    shape.push(scan.number());
  }
  return shape;
}

function readBinarySize(scan: JsonScan): number | undefined {
  let size: number | undefined;
  scan.openObject();
  for (let key = scan.nextKey(); key !== undefined; key = scan.nextKey()) {
    if (key === 'binary_data_size') size = scan.number();
    else scan.skip();
  }
  return size;
}

function garbage(what: string): PeerFailure {
  return new PeerFailure('garbage', `the remote engine's answer can not be read: ${what}`);
}
