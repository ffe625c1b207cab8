import type { Datatype, TensorSpec, VersionSpec } from '@gimbal/core';

/** A request that a model takes, with its body as JSON text; small enough to read. */
export interface ModelExample {
  /** `JSON`, `image file`, … */
  readonly title: string;
  readonly contentType: string;
  /** What follows `curl URL`, ready for a shell. */
  readonly curlArguments: string;
  /** The body when it is text. */
  readonly body: string | undefined;
}

/** Elements of an example tensor; a longer one is not shown. */
const MAX_EXAMPLE_ELEMENTS = 256;

/** A picture of one grey pixel, as PNG: the smallest image that every decoder takes. */
export const EXAMPLE_IMAGE_BASE64 =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==';

export const EXAMPLE_TEXT = 'The cat sits on the mat.';

/** One example for each kind of body that the model takes, the plainest first. */
export function examplesOf(spec: VersionSpec): readonly ModelExample[] {
  const json = jsonExample(JSON.stringify({ input: exampleInput(spec) }));
  switch (spec.task) {
    case 'image-classification':
    case 'object-detection':
      return [
        {
          title: 'image file',
          contentType: 'image/jpeg',
          curlArguments: `--data-binary @photo.jpg -H 'content-type: image/jpeg'`,
          body: undefined,
        },
        {
          title: 'form',
          contentType: 'multipart/form-data',
          curlArguments: `-F image=@photo.jpg -F 'parameters={"threshold":0.1}'`,
          body: undefined,
        },
        json,
      ];
    case 'text-embedding':
    case 'text-classification':
      return [
        {
          title: 'text',
          contentType: 'text/plain',
          curlArguments: `-d '${EXAMPLE_TEXT}' -H 'content-type: text/plain'`,
          body: EXAMPLE_TEXT,
        },
        json,
      ];
    case 'tabular':
    case 'tensor':
      return spec.signature.inputs.length === 1 && spec.signature.inputs[0]?.datatype !== 'BYTES'
        ? [json, rawExample()]
        : [json];
  }
}

/** An input of the native API that the model takes. */
export function exampleInput(spec: VersionSpec): unknown {
  switch (spec.task) {
    case 'image-classification':
    case 'object-detection':
      return EXAMPLE_IMAGE_BASE64;
    case 'text-embedding':
    case 'text-classification':
      return EXAMPLE_TEXT;
    case 'tabular':
    case 'tensor': {
      const { inputs } = spec.signature;
      const batches = spec.signature.batchAxis === 'dynamic';
      const [only] = inputs;
      if (inputs.length === 1 && only) return exampleTensor(only, batches);
      return Object.fromEntries(inputs.map((input) => [input.name, exampleTensor(input, batches)]));
    }
  }
}

/** A nested array of the input's shape, without its batch axis; free axes have length 1. */
export function exampleTensor({ datatype, shape }: TensorSpec, batches: boolean): unknown {
  const lengths = (batches ? shape.slice(1) : shape).map((length) => (length < 0 ? 1 : length));
  return nested(lengths, counting(datatype));
}

/** Whether an example of the tensor is short enough to be shown. */
export function isShowable({ shape }: TensorSpec, batches: boolean): boolean {
  const lengths = (batches ? shape.slice(1) : shape).map((length) => (length < 0 ? 1 : length));
  return lengths.reduce((count, length) => count * length, 1) <= MAX_EXAMPLE_ELEMENTS;
}

export function exampleElement(datatype: Datatype): number | boolean | string {
  switch (datatype) {
    case 'BOOL':
      return true;
    case 'BYTES':
      return 'text';
    default:
      return 0;
  }
}

/** The elements of an example one after the other: numbers count from 0 to 9, which suits every datatype. */
export function counting(datatype: Datatype): () => number | boolean | string {
  let next = 0;
  return () => {
    const element = exampleElement(datatype);
    if (typeof element !== 'number') return element;
    next += 1;
    return (next - 1) % 10;
  };
}

function nested(lengths: readonly number[], element: () => unknown): unknown {
  const [length, ...rest] = lengths;
  if (length === undefined) return element();
  return Array.from({ length }, () => nested(rest, element));
}

function jsonExample(body: string): ModelExample {
  return {
    title: 'JSON',
    contentType: 'application/json',
    curlArguments: `-d '${body.replaceAll("'", `'\\''`)}' -H 'content-type: application/json'`,
    body,
  };
}

function rawExample(): ModelExample {
  return {
    title: 'raw tensor',
    contentType: 'application/octet-stream',
    curlArguments: `--data-binary @input.bin -H 'content-type: application/octet-stream'`,
    body: undefined,
  };
}
