import { JsonText, type Signature, writeTensorText } from '@gimbal/core';
import type { RemoteRequest } from '../channel.ts';

const MICROS_IN_MS = 1000;

/** A body in the parts in which it is sent. */
export interface RestRequest {
  /** Bytes of JSON before raw tensors; undefined when all is JSON. */
  readonly jsonBytes: number | undefined;
  readonly body: readonly Uint8Array[];
}

const text = new JsonText();

/**
 * The body of an inference request. `binary`: tensors follow the JSON as raw bytes, and are asked for so
 * (https://github.com/triton-inference-server/server/blob/main/docs/protocol/extension_binary_data.md). FP16 has no
 * other way: without the extension it is refused before it comes here.
 */
export function restRequest(
  { signature, tensors }: RemoteRequest,
  { binary, timeoutMs }: { binary: boolean; timeoutMs: number },
): RestRequest {
  text.begin();
  text.ascii('{"parameters":{"timeout":');
  text.integer(Math.max(1, Math.floor(timeoutMs * MICROS_IN_MS)));
  if (binary) text.ascii(',"binary_data_output":true');
  text.ascii('},"inputs":[');
  for (const [index, { name, datatype }] of signature.inputs.entries()) {
    const tensor = tensors[index];
    if (tensor === undefined) continue;
    if (index > 0) text.ascii(',');
    text.ascii('{"name":');
    text.string(name);
    text.ascii(`,"datatype":"${datatype}","shape":[${tensor.shape.join(',')}]`);
    if (binary) text.ascii(`,"parameters":{"binary_data_size":${tensor.bytes.length}}}`);
    else {
      text.ascii(',"data":');
      writeTensorText(
        text,
        { name, datatype, shape: tensor.shape, bytes: tensor.bytes },
        { layout: 'flat', nonFinite: 'bare' },
      );
      text.ascii('}');
    }
  }
  writeOutputs(signature, binary);
  const json = text.finish();
  if (!binary) return { jsonBytes: undefined, body: [json] };
  const raw = tensors.map(({ bytes }) => bytes).filter(({ length }) => length > 0);
  return { jsonBytes: json.length, body: [json, ...raw] };
}

function writeOutputs({ outputs }: Signature, binary: boolean): void {
  text.ascii('],"outputs":[');
  for (const [index, { name }] of outputs.entries()) {
    if (index > 0) text.ascii(',');
    text.ascii('{"name":');
    text.string(name);
    text.ascii(binary ? ',"parameters":{"binary_data":true}}' : '}');
  }
  text.ascii(']}');
}
