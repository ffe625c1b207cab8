import { assert, type VersionSpec, type WorkRequest } from '@gimbal/core';

/** One input as it was sent: everything that decides what the model is given. */
export interface ContentInput {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  /** A view; it is only read. */
  readonly bytes: Uint8Array;
}

/** What a model is asked about. Whether two requests ask the same is decided by nothing else. */
export interface RequestContent {
  readonly model: string;
  /** Of the version: its artefacts and its configuration. */
  readonly digest: string;
  readonly input:
    | { readonly kind: 'tensors'; readonly inputs: readonly ContentInput[] }
    /** An image or a text that the runner decodes. */
    | { readonly kind: 'encoded'; readonly bytes: Uint8Array };
}

/** The content of a work as views of the arena that holds its input: valid as long as that memory is the work's. */
export function contentOf(
  request: Pick<WorkRequest, 'input'>,
  spec: Pick<VersionSpec, 'model' | 'digest' | 'signature'>,
  arena: Uint8Array,
): RequestContent {
  const { model, digest, signature } = spec;
  const { input } = request;
  if (input.kind === 'encoded') {
    const { offset, byteLength } = input.span;
    return { model, digest, input: { kind: 'encoded', bytes: arena.subarray(offset, offset + byteLength) } };
  }
  assert(input.tensors.length === signature.inputs.length, 'a work has a tensor for each input of the model');
  const inputs = signature.inputs.flatMap(({ name, datatype }, index): ContentInput[] => {
    const tensor = input.tensors[index];
    if (!tensor) return [];
    const { offset, byteLength } = tensor.span;
    return [{ name, datatype, shape: tensor.shape, bytes: arena.subarray(offset, offset + byteLength) }];
  });
  return { model, digest, input: { kind: 'tensors', inputs } };
}

/**
 * What frames the bytes of a content: names, datatypes, shapes and byte lengths, in order. Two contents that differ have
 * different frames, or equal frames and bytes that differ at the same place: no boundary can be moved unseen.
 */
export function frameOf({ model, digest, input }: RequestContent): unknown[] {
  if (input.kind === 'encoded') return [model, digest, 'encoded', input.bytes.byteLength];
  return [
    model,
    digest,
    'tensors',
    input.inputs.map(({ name, datatype, shape, bytes }) => [name, datatype, shape, bytes.byteLength]),
  ];
}

/** The bytes of a content, in the order of its frame. */
export function bytesOf({ input }: RequestContent): readonly Uint8Array[] {
  return input.kind === 'encoded' ? [input.bytes] : input.inputs.map(({ bytes }) => bytes);
}
