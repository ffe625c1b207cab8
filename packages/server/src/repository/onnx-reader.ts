import { type FileHandle, open, realpath, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, sep } from 'node:path';
import { GimbalError, isGimbalError } from '@gimbal/core';
import { type ExternalReference, OnnxGraphReader } from './onnx-graph.ts';
import type { ExternalFile, OnnxModel } from './onnx-model.ts';
import { ProtobufCursor } from './protobuf-cursor.ts';

/** Tried with onnxruntime-node 1.30.0: opset 26 loads, 27 is "under development"; IR 13 loads, 14 does not. */
export const MAX_OPSET = 26;
export const MAX_IR_VERSION = 13;

/** Protobuf's own limit for one message; larger models keep their weights in external files. */
const MAX_FILE_BYTES = 2 ** 31 - 1;

const SNIFFED_BYTES = 64;

/** Beginnings of files that are taken for models, and what to do about each. */
const LOOKALIKES: readonly { readonly begins: string; readonly at: number; readonly hint: string }[] = [
  { begins: 'version https://git-lfs', at: 0, hint: 'it is a Git LFS pointer: run "git lfs pull"' },
  { begins: '<', at: 0, hint: 'it is a web page: the download failed' },
  { begins: 'PK', at: 0, hint: 'it is a zip file, such as PyTorch writes: export with torch.onnx.export' },
  { begins: '\u0089HDF', at: 0, hint: 'it is HDF5, such as Keras writes: convert with tf2onnx' },
  { begins: 'TFL3', at: 4, hint: 'it is a TensorFlow Lite model: convert with tf2onnx' },
  { begins: 'ORTM', at: 4, hint: 'it is in ORT format: give the .onnx file that it was made from' },
  { begins: 'GGUF', at: 0, hint: 'it is a GGUF file: run it with an LLM engine' },
  { begins: '\u0080', at: 0, hint: 'it is a Python pickle: export the model to ONNX' },
];

/**
 * Reads what an .onnx file says of itself, without loading it and without reading its weights. Whatever the file
 * holds, the result is a description or a GimbalError (MODEL_UNAVAILABLE) that says what is wrong and how to fix it.
 * Operators that the runtime does not know are not found here: only the runtime knows.
 */
export async function readOnnxModel(path: string): Promise<OnnxModel> {
  const name = basename(path);
  const file = await openModel(path, name);
  try {
    const { size } = await file.stat();
    if (size === 0) {
      throw refusal(name, {
        what: 'the file is empty',
        expected: 'an ONNX model',
        got: '0 bytes',
        hint: 'copy it again',
      });
    }
    if (size > MAX_FILE_BYTES) {
      throw refusal(name, {
        what: 'the file is larger than protobuf allows',
        expected: `at most ${MAX_FILE_BYTES} bytes`,
        got: `${size} bytes`,
        hint: 'save the weights as external data',
      });
    }
    return await describe(file, { path, name, size });
  } finally {
    await file.close();
  }
}

interface Source {
  readonly path: string;
  readonly name: string;
  readonly size: number;
}

async function openModel(path: string, name: string): Promise<FileHandle> {
  try {
    const found = await stat(path);
    if (!found.isFile()) {
      throw refusal(name, {
        what: 'it is no file',
        expected: 'an .onnx file',
        got: 'something else',
        hint: undefined,
      });
    }
    return await open(path, 'r');
  } catch (error) {
    if (isGimbalError(error)) throw error;
    const missing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    throw refusal(name, {
      what: missing ? 'there is no such file' : "the file can't be opened",
      expected: 'a readable .onnx file',
      got: String((error as NodeJS.ErrnoException).code),
      hint: missing ? undefined : 'check who may read it',
    });
  }
}

async function describe(file: FileHandle, source: Source): Promise<OnnxModel> {
  const graph = new OnnxGraphReader(new ProtobufCursor(file, source.size));
  try {
    await graph.readModel();
    if (!graph.hasGraph || graph.irVersion === undefined) {
      throw await notAModel(file, source.name, 'it has no graph');
    }
    const inputs = graph.inputs();
    const outputs = graph.outputs();
    checkVersions(graph, source.name);
    checkEdges({ inputs: inputs.length, outputs: outputs.length }, source.name);
    return {
      irVersion: graph.irVersion,
      operatorSets: graph.operatorSets,
      producer: { name: graph.producerName, version: graph.producerVersion },
      graphName: graph.graphName,
      inputs,
      outputs,
      unknownRanks: graph.unknownRanks,
      operators: graph.operators,
      operatorTotal: graph.operatorTotal,
      initializers: { count: graph.initializerCount, byteLength: graph.initializerBytes },
      externalFiles: await externalFiles(graph.external, source),
      byteLength: source.size,
    };
  } catch (error) {
    throw await explain(error, { graph, file, source });
  }
}

function checkVersions(graph: OnnxGraphReader, name: string): void {
  const opset = graph.operatorSets.find((set) => set.domain === '')?.version ?? 0;
  if (opset > MAX_OPSET) {
    throw refusal(name, {
      what: 'its operators are newer than the runtime',
      expected: `opset ${MAX_OPSET} or older`,
      got: `opset ${opset}`,
      hint: `export with opset_version=${MAX_OPSET} or less`,
    });
  }
  const irVersion = graph.irVersion ?? 0;
  if (irVersion > MAX_IR_VERSION || irVersion < 1) {
    throw refusal(name, {
      what: 'its format is of a version that the runtime does not know',
      expected: `IR version 1 to ${MAX_IR_VERSION}`,
      got: `IR version ${irVersion}`,
      hint: 'export again with an older onnx package',
    });
  }
}

function checkEdges({ inputs, outputs }: { inputs: number; outputs: number }, name: string): void {
  if (inputs > 0 && outputs > 0) return;
  throw refusal(name, {
    what: inputs === 0 ? 'the graph has no inputs' : 'the graph has no outputs',
    expected: 'at least one input and one output',
    got: `${inputs} inputs and ${outputs} outputs`,
    hint: undefined,
  });
}

/** Every external file must lie inside the model's folder, be there, and be long enough. */
async function externalFiles(
  references: ReadonlyMap<string, ExternalReference>,
  source: Source,
): Promise<ExternalFile[]> {
  const files: ExternalFile[] = [];
  for (const reference of references.values()) files.push(await externalFile(reference, source));
  return files;
}

async function externalFile({ location, needs }: ExternalReference, source: Source): Promise<ExternalFile> {
  const shown = JSON.stringify(location);
  const folder = dirname(source.path);
  const path = join(folder, location);
  if (isAbsolute(location) || /(^|[\\/])\.\.([\\/]|$)|^[A-Za-z]:|\0/.test(location)) {
    throw outside(source.name, shown);
  }
  let byteLength: number;
  try {
    const [real, realFolder] = await Promise.all([realpath(path), realpath(folder)]);
    if (!real.startsWith(realFolder + sep)) throw outside(source.name, shown);
    const found = await stat(real);
    byteLength = found.isFile() ? found.size : -1;
  } catch (error) {
    if (isGimbalError(error)) throw error;
    throw refusal(source.name, {
      what: `its weights are in ${shown}, which is missing`,
      expected: 'that file in the same folder',
      got: 'no such file',
      hint: `copy ${shown} beside the model`,
    });
  }
  if (byteLength < needs) {
    throw refusal(source.name, {
      what: `its weights in ${shown} are cut off`,
      expected: `at least ${needs} bytes`,
      got: byteLength < 0 ? 'no regular file' : `${byteLength} bytes`,
      hint: `copy ${shown} again`,
    });
  }
  return { location, path, byteLength };
}

function outside(name: string, shown: string): GimbalError {
  return refusal(name, {
    what: 'its weights are outside its folder',
    expected: 'a file name without ".." inside the same folder',
    got: shown,
    hint: 'save the model again with its external data beside it',
  });
}

/** Says low-level findings again with the file's name, what was expected and what to do. */
async function explain(
  error: unknown,
  { graph, file, source }: { graph: OnnxGraphReader; file: FileHandle; source: Source },
): Promise<unknown> {
  if (!isGimbalError(error)) return error;
  const { fault } = error.extra;
  if (fault === undefined) return error;
  if (fault === 'unsupported') {
    return refusal(source.name, {
      what: error.message,
      expected: 'a tensor of a datatype that the runtime can exchange',
      got: String(error.extra.got),
      hint: String(error.extra.hint),
    });
  }
  // Every exporter writes the IR version first: a file that fails before it was never a model.
  if (graph.irVersion === undefined) return notAModel(file, source.name, error.message);
  if (fault === 'truncated') {
    return refusal(source.name, {
      what: 'the file is truncated',
      expected: `at least ${error.extra.needed} bytes`,
      got: `${error.extra.got} bytes`,
      hint: 'copy it again, and look whether the disk is full',
    });
  }
  return refusal(source.name, {
    what: `the file is damaged: ${error.message}`,
    expected: 'an ONNX model',
    got: 'broken protobuf',
    hint: 'copy it again',
  });
}

async function notAModel(file: FileHandle, name: string, why: string): Promise<GimbalError> {
  const bytes = Buffer.alloc(SNIFFED_BYTES);
  const { bytesRead } = await file.read(bytes, 0, SNIFFED_BYTES, 0);
  const beginning = bytes.toString('latin1', 0, bytesRead);
  const lookalike = LOOKALIKES.find(({ begins, at }) => beginning.startsWith(begins, at));
  return refusal(name, {
    what: `it is not an ONNX model: ${why}`,
    expected: 'an ONNX protobuf file',
    got: `bytes that begin with ${JSON.stringify(beginning.slice(0, 16))}`,
    hint: lookalike?.hint ?? 'export the model to ONNX',
  });
}

interface Refusal {
  readonly what: string;
  readonly expected: string;
  readonly got: string;
  readonly hint: string | undefined;
}

function refusal(name: string, { what, expected, got, hint }: Refusal): GimbalError {
  const fix = hint === undefined ? '' : `; ${hint}`;
  return new GimbalError(
    'MODEL_UNAVAILABLE',
    `Cannot load ${JSON.stringify(name)}: ${what}, expected ${expected}, got ${got}${fix}`,
    {
      fields: [
        { pointer: name, expected, received: `${got} (${what})`, ...(hint === undefined ? {} : { hint }) },
      ],
    },
  );
}
