import { byteSizeOf, onnxTypeOf, type Signature, type TensorSpec } from '@gimbal/core';
import { elementCount, type TensorView } from '../transport/tensor-rows.ts';
import type { OnnxElements, OnnxValue } from './onnx-binding.ts';
import { elementsOf, stringsOf } from './tensor-elements.ts';

/** Memory for gathering that is kept between batches, per input; larger batches get memory of their own. */
const MAX_KEPT_BYTES = 16 * 1024 * 1024;

/** Tensors of one part, index-aligned with the signature's inputs. */
export type PartTensors = readonly TensorView[];

/**
 * Makes the runtime's inputs of the tensors of several parts. Tensors that lie side by side in memory, as those of a
 * batch in an arena mostly do, are wrapped as one without a copy; others are gathered into memory that is used again.
 */
export class InputBatch {
  readonly #signature: Signature;
  readonly #scratch: (Uint8Array | undefined)[];

  constructor(signature: Signature) {
    this.#signature = signature;
    this.#scratch = signature.inputs.map(() => undefined);
  }

  /** `parts` must agree in every axis but the first. Fails with INVALID_INPUT on strings that are no UTF-8. */
  feeds(parts: readonly PartTensors[], rows: number): Record<string, OnnxValue> {
    const feeds: Record<string, OnnxValue> = {};
    for (let index = 0; index < this.#signature.inputs.length; index += 1) {
      const spec = this.#signature.inputs[index] as TensorSpec;
      const shape = parts[0]?.[index]?.shape ?? [];
      const dims = parts.length === 1 ? shape : [rows, ...shape.slice(1)];
      feeds[spec.name] = {
        type: onnxTypeOf(spec.datatype),
        data: this.#join(parts, index, spec),
        dims,
        location: 'cpu',
      };
    }
    return feeds;
  }

  #join(parts: readonly PartTensors[], index: number, spec: TensorSpec): OnnxElements {
    if (spec.datatype === 'BYTES') {
      return parts.flatMap((tensors) => stringsOf(tensors[index] as TensorView, spec.name));
    }
    const wrapped = wrapAll(parts, index, byteSizeOf(spec.datatype));
    return elementsOf(wrapped ?? this.#gather(parts, index), spec.datatype);
  }

  #gather(parts: readonly PartTensors[], index: number): Uint8Array {
    let total = 0;
    for (const tensors of parts) total += (tensors[index] as TensorView).bytes.length;
    const memory = this.#memory(index, total);
    let at = 0;
    for (const tensors of parts) {
      const { bytes } = tensors[index] as TensorView;
      memory.set(bytes, at);
      at += bytes.length;
    }
    return memory.subarray(0, total);
  }

  #memory(index: number, byteLength: number): Uint8Array {
    const kept = this.#scratch[index];
    if (kept && kept.length >= byteLength) return kept;
    const memory = new Uint8Array(byteLength <= MAX_KEPT_BYTES ? Math.max(4096, byteLength * 2) : byteLength);
    if (byteLength <= MAX_KEPT_BYTES) this.#scratch[index] = memory;
    return memory;
  }
}

/** One view over the tensors of all parts, when they are one aligned stretch of memory. */
function wrapAll(parts: readonly PartTensors[], index: number, alignment: number): Uint8Array | undefined {
  const first = ((parts[0] as PartTensors)[index] as TensorView).bytes;
  if (first.byteOffset % alignment !== 0) return undefined;
  if (parts.length === 1) return first;
  let end = first.byteOffset + first.length;
  for (let part = 1; part < parts.length; part += 1) {
    const { bytes } = (parts[part] as PartTensors)[index] as TensorView;
    if (bytes.buffer !== first.buffer || bytes.byteOffset !== end) return undefined;
    end += bytes.length;
  }
  return new Uint8Array(first.buffer, first.byteOffset, end - first.byteOffset);
}

/** What is wrong with a part's tensors, in words; undefined when they fit the signature. */
export function misfit(tensors: PartTensors, signature: Signature): string | undefined {
  if (tensors.length !== signature.inputs.length) {
    return `${tensors.length} input tensors, expected ${signature.inputs.length}`;
  }
  for (let index = 0; index < tensors.length; index += 1) {
    const { shape, bytes } = tensors[index] as TensorView;
    const spec = signature.inputs[index] as TensorSpec;
    if (!fits(shape, spec.shape)) {
      return `the input "${spec.name}" has the shape [${shape}], expected [${spec.shape}]`;
    }
    const expected = elementCount(shape) * byteSizeOf(spec.datatype);
    if (expected > 0 && bytes.length !== expected) {
      return `the input "${spec.name}" has ${bytes.length} bytes, expected ${expected}`;
    }
  }
  return undefined;
}

function fits(shape: readonly number[], declared: readonly number[]): boolean {
  if (shape.length !== declared.length) return false;
  for (let axis = 0; axis < shape.length; axis += 1) {
    if (declared[axis] !== -1 && declared[axis] !== shape[axis]) return false;
  }
  return true;
}
