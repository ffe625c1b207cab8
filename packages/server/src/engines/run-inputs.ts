import {
  elementCount,
  type JobPart,
  type Signature,
  shapeMismatch,
  type TensorSpec,
  tensorByteLength,
} from '@gimbal/core';
import type { Arena } from '../transport/arena.ts';
import { BrokenElements, rowsOf, type TensorView } from '../transport/tensor-rows.ts';
import type { RemoteRequest } from './channel.ts';

/** A part of a batch that can be sent. */
export interface RunMember {
  /** Place of the part in the batch. */
  readonly index: number;
  readonly rows: number;
  readonly part: JobPart;
  /** Index-aligned with the signature's inputs; of a joined group, views of the request's own memory. */
  readonly tensors: readonly TensorView[];
}

/** Parts that go into one request, their rows one after another. */
export interface RunGroup {
  readonly members: readonly RunMember[];
  readonly request: RemoteRequest;
}

export interface GroupedInputs {
  readonly groups: readonly RunGroup[];
  /** Parts that can't be sent, and what is wrong with them. */
  readonly refused: readonly { readonly index: number; readonly wrong: string }[];
}

/**
 * Gathers the parts of a batch into requests: with a dynamic batch axis, rows of equal shapes become one request; without
 * one, each part is sent alone. The bytes are copied, since an attempt may outlive the report of its batch: a hedge that
 * lost may still be on its way to the socket when the memory of its inputs belongs to another call.
 */
export function groupInputs(
  parts: readonly JobPart[],
  { arena, signature }: { arena: Pick<Arena, 'bytes'>; signature: Signature },
): GroupedInputs {
  const refused: { index: number; wrong: string }[] = [];
  const groups = new Map<string, RunMember[]>();
  for (const [index, part] of parts.entries()) {
    const readied = ready(part, { index, arena, signature });
    if (typeof readied === 'string') refused.push({ index, wrong: readied });
    else {
      const key = signature.batchAxis === 'none' ? String(index) : shapeKey(readied);
      const group = groups.get(key);
      if (group) group.push(readied);
      else groups.set(key, [readied]);
    }
  }
  return { groups: [...groups.values()].map((members) => joinMembers(members, signature)), refused };
}

function ready(
  part: JobPart,
  { index, arena, signature }: { index: number; arena: Pick<Arena, 'bytes'>; signature: Signature },
): RunMember | string {
  const tensors =
    part.input.kind === 'encoded' ? encodedText(part, arena, signature) : tensorsOf(part, arena);
  if (tensors === undefined) return 'its task takes tensors, got an image or text';
  const sliced: TensorView[] = [];
  for (const [at, spec] of signature.inputs.entries()) {
    const tensor = tensors[at];
    if (tensor === undefined) return `the input ${JSON.stringify(spec.name)} is missing`;
    try {
      const rows = { first: part.firstRow, rows: part.rows };
      sliced.push(part.sliced ? rowsOf(tensor, spec.datatype, rows) : tensor);
    } catch (error) {
      if (error instanceof BrokenElements) return error.message;
      throw error;
    }
  }
  const wrong = misfit(sliced, signature.inputs);
  if (wrong !== undefined) return wrong;
  const rows = signature.batchAxis === 'dynamic' ? (sliced[0]?.shape[0] ?? 1) : part.rows;
  return { index, rows, part, tensors: sliced };
}

function tensorsOf(part: JobPart, arena: Pick<Arena, 'bytes'>): readonly TensorView[] | undefined {
  if (part.input.kind !== 'tensors') return undefined;
  return part.input.tensors.map(({ span, shape }) => ({
    bytes: arena.bytes.subarray(span.offset, span.offset + span.byteLength),
    shape,
  }));
}

/** A text as the one element of a model that takes a single BYTES tensor: [1] with a batch axis, and else its own shape of 1s. */
function encodedText(
  part: JobPart,
  arena: Pick<Arena, 'bytes'>,
  { inputs }: Signature,
): readonly TensorView[] | undefined {
  const [input] = inputs;
  if (part.input.kind !== 'encoded' || inputs.length !== 1 || input?.datatype !== 'BYTES') return undefined;
  const { offset, byteLength } = part.input.span;
  const bytes = new Uint8Array(4 + byteLength);
  new DataView(bytes.buffer).setUint32(0, byteLength, true);
  bytes.set(arena.bytes.subarray(offset, offset + byteLength), 4);
  return [{ bytes, shape: input.shape.map(() => 1) }];
}

function misfit(tensors: readonly TensorView[], specs: readonly TensorSpec[]): string | undefined {
  for (const [index, spec] of specs.entries()) {
    const { bytes, shape } = tensors[index] as TensorView;
    const wrong = shapeMismatch(spec, shape, '/inputs');
    if (wrong)
      return `the shape of ${JSON.stringify(spec.name)} is ${wrong.received}, expected ${wrong.expected}`;
    const wanted = tensorByteLength(spec.datatype, shape);
    if (spec.datatype !== 'BYTES' && wanted !== bytes.length) {
      return `${JSON.stringify(spec.name)} has ${bytes.length} bytes, expected ${wanted}`;
    }
  }
  return undefined;
}

function shapeKey({ tensors }: RunMember): string {
  return tensors.map(({ shape }) => shape.slice(1).join('x')).join(' ');
}

/** Joins the rows of parts into one request, in memory of its own; the members' tensors become views of that. */
export function joinMembers(members: readonly RunMember[], signature: Signature): RunGroup {
  const rows = members.reduce((sum, member) => sum + member.rows, 0);
  const tensors = signature.inputs.map((_, at) => {
    const views = members.map((member) => member.tensors[at] as TensorView);
    const shape = views[0]?.shape ?? [];
    const joined = signature.batchAxis === 'dynamic' ? [rows, ...shape.slice(1)] : shape;
    return { bytes: concatenated(views), shape: joined };
  });
  const starts = signature.inputs.map(() => 0);
  const owned = members.map((member) => ({
    ...member,
    tensors: member.tensors.map(({ bytes, shape }, at) => {
      const start = starts[at] ?? 0;
      starts[at] = start + bytes.length;
      return { bytes: (tensors[at] as TensorView).bytes.subarray(start, start + bytes.length), shape };
    }),
  }));
  return { members: owned, request: { signature, tensors, rows } };
}

function concatenated(views: readonly TensorView[]): Uint8Array {
  const bytes = new Uint8Array(views.reduce((sum, view) => sum + view.bytes.length, 0));
  let at = 0;
  for (const view of views) {
    bytes.set(view.bytes, at);
    at += view.bytes.length;
  }
  return bytes;
}

/** Inputs of zeros, with length 1 where it is free: what a trial sends. Undefined when they would be too large. */
export function zeroRequest(signature: Signature, rows: number): RemoteRequest | undefined {
  const tensors: TensorView[] = [];
  for (const { datatype, shape } of signature.inputs) {
    const given = shape.map((length, axis) =>
      axis === 0 && signature.batchAxis === 'dynamic' ? rows : length < 0 ? 1 : length,
    );
    // An empty text is four zero bytes of length.
    const count = elementCount(given);
    const byteLength = datatype === 'BYTES' ? 4 * (count ?? Infinity) : tensorByteLength(datatype, given);
    if (byteLength === undefined || byteLength > MAX_TRIAL_BYTES) return undefined;
    tensors.push({ bytes: new Uint8Array(byteLength), shape: given });
  }
  return { signature, tensors, rows };
}

/** A larger input is no small question any more. */
const MAX_TRIAL_BYTES = 4 * 1024 * 1024;
