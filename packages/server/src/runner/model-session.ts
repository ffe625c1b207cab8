import { closeSync, openSync, readSync } from 'node:fs';
import {
  type Datatype,
  datatypeOfOnnx,
  type Signature,
  type TensorSpec,
  type VersionSpec,
} from '@gimbal/core';
import {
  type ExecutionProvider,
  expandProviders,
  missingForProvider,
  PlacementProof,
  providerOption,
  readProvider,
  selectDevice,
} from './execution-provider.ts';
import { publicText } from './failure-text.ts';
import { loadFailure, unavailable } from './load-failure.ts';
import { createOnnxSession, type OnnxMetadata, type OnnxSession, type OnnxValue } from './onnx-binding.ts';

/** Element types of onnx.proto by number; null: known, but not passed by the runtime. */
const ELEMENT_TYPES: readonly (string | null)[] = [
  null,
  'float32',
  'uint8',
  'int8',
  'uint16',
  'int16',
  'int32',
  'int64',
  'string',
  'bool',
  'float16',
  'float64',
  'uint32',
  'uint64',
  null,
  null,
  null,
];
const UNSUPPORTED_TYPES: Readonly<Record<number, string>> = {
  14: 'complex64',
  15: 'complex128',
  16: 'bfloat16',
  17: 'float8e4m3fn',
  18: 'float8e4m3fnuz',
  19: 'float8e5m2',
  20: 'float8e5m2fnuz',
  21: 'uint4',
  22: 'int4',
};
const START_BYTES = 16;

export interface SessionOptions {
  readonly file: string;
  readonly threads: number;
  /** Tried in order: `cpu`, `cuda`, `cuda:1`, `cuda:GPU-…`, `auto`. */
  readonly providers: readonly string[];
  /** Runs the model once, to see where its nodes run; called for providers other than the CPU alone. */
  readonly tryRun?: (session: ModelSession) => void;
  /** The runtime; tests put another in its place. */
  readonly runtime?: SessionRuntime;
}

export interface SessionRuntime {
  createSession(): OnnxSession;
  /** Why a provider can't work here; undefined: it may. */
  missing(provider: string): string | undefined;
}

const ONNX_RUNTIME: SessionRuntime = { createSession: createOnnxSession, missing: missingForProvider };

/** A loaded model: runs batches of named tensors, blocking. */
export interface ModelSession {
  readonly inputs: readonly TensorSpec[];
  readonly outputs: readonly TensorSpec[];
  /** `cpu`, `cuda:0`: the provider really in use. */
  readonly device: string;
  /** For the log: why providers before it were not taken, and what of the graph does not run on it. */
  readonly notes?: readonly string[];
  /** Gives all outputs by their names. Throws the runtime's own error. */
  run(feeds: Readonly<Record<string, OnnxValue>>): Readonly<Record<string, OnnxValue>>;
  close(): void;
}

/**
 * Loads a model on the first provider that works. The runtime neither falls back by itself nor says afterwards which
 * provider it took, so that each is tried alone, and any but the CPU must prove by a run that nodes run on it. Fails with
 * MODEL_UNAVAILABLE and a public reason.
 */
export function openModelSession(options: SessionOptions): ModelSession {
  const start = readStart(options.file);
  const { missing } = options.runtime ?? ONNX_RUNTIME;
  const notes: string[] = [];
  let failure: unknown;
  for (const written of expandProviders(options.providers, missing)) {
    const provider = readProvider(written);
    try {
      return openOn(provider, options, notes);
    } catch (error) {
      // What fails without its provider is about the model, and says more.
      failure = isProviderFailure(error) ? (failure ?? error) : error;
      if (provider.name === 'cpu') break;
      notes.push(`The model does not run on ${provider.device}: ${reasonOf(error)}`);
    }
  }
  throw loadFailure(failure ?? unavailable('no execution provider is configured'), start);
}

function openOn(
  provider: ExecutionProvider,
  options: SessionOptions,
  notes: readonly string[],
): ModelSession {
  const { createSession, missing } = options.runtime ?? ONNX_RUNTIME;
  const absent = missing(provider.name);
  if (absent !== undefined) throw new ProviderUnusable(absent);
  selectDevice(provider, process.env);
  const session = createSession();
  // The CPU can run everything: there is nothing to prove.
  const proof = provider.name === 'cpu' || !options.tryRun ? undefined : new PlacementProof();
  let loaded = false;
  try {
    session.loadModel(options.file, { ...sessionOptions(options, provider), ...proof?.options });
    loaded = true;
    const opened = wrap(session, provider, notes);
    return proof ? prove(session, opened, { provider, proof, tryRun: options.tryRun }) : opened;
  } catch (error) {
    // Its memory, perhaps a device's, is wanted by the next.
    if (loaded) session.dispose();
    throw error;
  } finally {
    proof?.remove();
  }
}

function prove(
  session: OnnxSession,
  opened: ModelSession,
  {
    provider,
    proof,
    tryRun,
  }: { provider: ExecutionProvider; proof: PlacementProof; tryRun: SessionOptions['tryRun'] },
): ModelSession {
  let failure: unknown;
  try {
    tryRun?.(opened);
  } catch (error) {
    // The made-up input may be refused in the middle; the nodes before it have told where they run.
    failure = error;
  }
  session.endProfiling();
  const { nodes, onProvider } = proof.placement(provider.name);
  if (onProvider === 0) {
    const why = failure === undefined ? `all ${nodes} nodes ran on the CPU` : reasonOf(failure);
    throw new ProviderUnusable(why);
  }
  if (onProvider === nodes) return opened;
  const left = `${nodes - onProvider} of ${nodes} nodes run on the CPU beside ${provider.device}`;
  return { ...opened, notes: [...(opened.notes ?? []), left] };
}

/** A provider that can't be used here, whatever the model. */
class ProviderUnusable extends Error {
  override readonly name = 'ProviderUnusable';
}

function sessionOptions({ threads }: SessionOptions, provider: ExecutionProvider): object {
  return {
    executionProviders: [providerOption(provider)],
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    executionMode: 'sequential',
    graphOptimizationLevel: 'all',
    // The runtime prints failed runs in colour, with paths; the errors that it throws say the same.
    logSeverityLevel: 4,
    // Idle threads that spin take the core from the host.
    ...(threads > 1 ? { extra: { session: { intra_op: { allow_spinning: '0' } } } } : {}),
  };
}

function isProviderFailure(error: unknown): boolean {
  return (
    error instanceof ProviderUnusable ||
    /ExecutionProvider|executionProviders|Failed to load shared library|CUDA/.test(String(error))
  );
}

function reasonOf(error: unknown): string {
  return publicText(error instanceof Error ? error.message : String(error));
}

function wrap(session: OnnxSession, provider: ExecutionProvider, notes: readonly string[]): ModelSession {
  const inputs = session.inputMetadata.map((metadata) => tensorSpec(metadata, 'input'));
  const outputs = session.outputMetadata.map((metadata) => tensorSpec(metadata, 'output'));
  const fetches = Object.fromEntries(outputs.map(({ name }) => [name, null]));
  const runOptions = {};
  return {
    inputs,
    outputs,
    device: provider.device,
    notes,
    run: (feeds) => session.run(feeds, fetches, runOptions),
    close: () => session.dispose(),
  };
}

function tensorSpec(metadata: OnnxMetadata, side: 'input' | 'output'): TensorSpec {
  const { name, isTensor, type, shape, symbolicDimensions } = metadata;
  if (!isTensor) throw unavailable(`its ${side} "${name}" is a sequence or map, expected a tensor`);
  return {
    name,
    datatype: datatypeOf(metadata, side, type),
    shape: [...shape],
    axisNames: shape.map((length, axis) => (length < 0 ? symbolicDimensions[axis] || null : null)),
  };
}

function datatypeOf({ name }: OnnxMetadata, side: string, type: number): Datatype {
  const onnxType = ELEMENT_TYPES[type];
  const datatype = onnxType ? datatypeOfOnnx(onnxType) : undefined;
  if (datatype) return datatype;
  const got = UNSUPPORTED_TYPES[type] ?? `type ${type}`;
  throw unavailable(`its ${side} "${name}" is ${got}, expected a datatype that the runtime can pass`);
}

function readStart(file: string): Uint8Array {
  const start = new Uint8Array(START_BYTES);
  let fd: number;
  try {
    fd = openSync(file, 'r');
  } catch (error) {
    throw unavailable("the file can't be opened", error);
  }
  try {
    const length = readSync(fd, start, 0, START_BYTES, 0);
    if (length === 0) throw unavailable('the file is empty, expected an ONNX model');
    return start.subarray(0, length);
  } finally {
    closeSync(fd);
  }
}

/**
 * The signature of a loaded variant. The best variant's must be the one that was read from its file; others must take
 * and give as many tensors of the same datatypes, since requests are checked against the best one's.
 */
export function confirmSignature(session: ModelSession, spec: VersionSpec, variant: number): Signature {
  const expected = spec.signature;
  const inputs = match(session.inputs, expected.inputs, { side: 'input', exact: variant === 0 });
  const outputs = match(session.outputs, expected.outputs, { side: 'output', exact: variant === 0 });
  const canBatch = [...inputs, ...outputs].every(({ shape }) => shape[0] === -1);
  return { inputs, outputs, batchAxis: canBatch && inputs.length > 0 ? expected.batchAxis : 'none' };
}

function match(
  actual: readonly TensorSpec[],
  expected: readonly TensorSpec[],
  { side, exact }: { side: 'input' | 'output'; exact: boolean },
): readonly TensorSpec[] {
  if (actual.length !== expected.length) {
    throw unavailable(`it has ${actual.length} ${side}s, expected ${expected.length}`);
  }
  return expected.map((wanted, index) => {
    const found = actual.find(({ name }) => name === wanted.name) ?? (exact ? undefined : actual[index]);
    if (!found) throw unavailable(`it has no ${side} "${wanted.name}"`);
    if (found.datatype !== wanted.datatype) {
      throw unavailable(`its ${side} "${wanted.name}" is ${found.datatype}, expected ${wanted.datatype}`);
    }
    if (exact && !sameShape(found.shape, wanted.shape)) {
      throw unavailable(
        `its ${side} "${wanted.name}" has the shape [${found.shape}], expected [${wanted.shape}]`,
      );
    }
    return found;
  });
}

function sameShape(left: readonly number[], right: readonly number[]): boolean {
  return left.length === right.length && left.every((length, axis) => length === right[axis]);
}
