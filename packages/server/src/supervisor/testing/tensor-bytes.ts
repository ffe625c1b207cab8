/** Bytes of tensors, as clients send them. */
export function float32(...values: readonly number[]): Uint8Array {
  return new Uint8Array(new Float32Array(values).buffer);
}

export function int32(...values: readonly number[]): Uint8Array {
  return new Uint8Array(new Int32Array(values).buffer);
}

export function int64(...values: readonly (number | bigint)[]): Uint8Array {
  return new Uint8Array(new BigInt64Array(values.map(BigInt)).buffer);
}

/** Elements of a BYTES tensor: each after its length. */
export function strings(...values: readonly (string | Uint8Array)[]): Uint8Array {
  return Buffer.concat(
    values.map((value) => {
      const bytes = Buffer.from(value);
      const length = Buffer.alloc(4);
      length.writeUInt32LE(bytes.length);
      return Buffer.concat([length, bytes]);
    }),
  );
}

/** A copy at an address that suits every datatype. */
function copied(bytes: Uint8Array): ArrayBuffer {
  return bytes.slice().buffer as ArrayBuffer;
}

export function asFloat32(bytes: Uint8Array): number[] {
  return [...new Float32Array(copied(bytes))];
}

export function asInt64(bytes: Uint8Array): bigint[] {
  return [...new BigInt64Array(copied(bytes))];
}

export function asInt32(bytes: Uint8Array): number[] {
  return [...new Int32Array(copied(bytes))];
}
