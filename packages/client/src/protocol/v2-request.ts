import { joined } from '../call/answer-body.ts';
import type { ParameterValue } from '../infer-options.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { toWire } from '../tensor/wire.ts';

/** A request of the Open Inference Protocol V2 with binary tensors. */
export interface V2Request {
  readonly body: Uint8Array<ArrayBuffer>;
  /** Bytes of JSON before the tensors, for `Inference-Header-Content-Length`. */
  readonly jsonBytes: number;
}

export interface V2Plan {
  readonly parameters: Readonly<Record<string, ParameterValue>>;
  /** Names of the wanted outputs; undefined for all. */
  readonly outputs: readonly string[] | undefined;
}

export function v2Request(tensors: Readonly<Record<string, Tensor>>, plan: V2Plan): V2Request {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  const inputs = Object.entries(tensors).map(([name, tensor]) => {
    const bytes = toWire(tensor);
    pieces.push(bytes);
    const { datatype, shape } = tensor;
    return { name, datatype, shape, parameters: { binary_data_size: bytes.length } };
  });
  const outputs = plan.outputs?.map((name) => ({ name, parameters: { binary_data: true } }));
  const document = {
    parameters: { ...plan.parameters, binary_data_output: true },
    inputs,
    ...(outputs ? { outputs } : {}),
  };
  const json = new TextEncoder().encode(JSON.stringify(document));
  const byteLength = pieces.reduce((sum, piece) => sum + piece.length, json.length);
  return { body: joined([json, ...pieces], byteLength), jsonBytes: json.length };
}
