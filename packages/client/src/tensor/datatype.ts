/** Datatypes by their Open Inference Protocol names, and BF16, which other servers of the protocol have too. */
export type Datatype =
  | 'BOOL'
  | 'UINT8'
  | 'UINT16'
  | 'UINT32'
  | 'UINT64'
  | 'INT8'
  | 'INT16'
  | 'INT32'
  | 'INT64'
  | 'FP16'
  | 'BF16'
  | 'FP32'
  | 'FP64'
  | 'BYTES';

/** What the elements of a tensor are held in. Halves are widened to floats, which hold each of them exactly. */
export interface TensorElements {
  /** 0 and 1. */
  readonly BOOL: Uint8Array;
  readonly UINT8: Uint8Array;
  readonly UINT16: Uint16Array;
  readonly UINT32: Uint32Array;
  readonly UINT64: BigUint64Array;
  readonly INT8: Int8Array;
  readonly INT16: Int16Array;
  readonly INT32: Int32Array;
  readonly INT64: BigInt64Array;
  readonly FP16: Float32Array;
  readonly BF16: Float32Array;
  readonly FP32: Float32Array;
  readonly FP64: Float64Array;
  /** One array of bytes for each element; `textsOf` reads them as UTF-8. */
  readonly BYTES: readonly Uint8Array[];
}

/** What a tensor may be made of, besides the elements themselves. */
export interface ElementSource {
  readonly BOOL: Uint8Array | readonly boolean[];
  readonly UINT8: Uint8Array | Uint8ClampedArray | readonly number[];
  readonly UINT16: Uint16Array | readonly number[];
  readonly UINT32: Uint32Array | readonly number[];
  readonly UINT64: BigUint64Array | readonly bigint[];
  readonly INT8: Int8Array | readonly number[];
  readonly INT16: Int16Array | readonly number[];
  readonly INT32: Int32Array | readonly number[];
  readonly INT64: BigInt64Array | readonly bigint[];
  /** A Uint16Array holds the bits of halves as they are. */
  readonly FP16: Float32Array | Uint16Array | readonly number[];
  readonly BF16: Float32Array | Uint16Array | readonly number[];
  readonly FP32: Float32Array | readonly number[];
  readonly FP64: Float64Array | readonly number[];
  readonly BYTES: readonly (Uint8Array | string)[];
}

const BYTE_SIZES: Readonly<Record<Datatype, number>> = {
  BOOL: 1,
  UINT8: 1,
  UINT16: 2,
  UINT32: 4,
  UINT64: 8,
  INT8: 1,
  INT16: 2,
  INT32: 4,
  INT64: 8,
  FP16: 2,
  BF16: 2,
  FP32: 4,
  FP64: 8,
  BYTES: 0,
};

/** Bytes of one element on the wire; 0 for BYTES, whose elements carry their own length. */
export function byteSizeOf(datatype: Datatype): number {
  return BYTE_SIZES[datatype];
}

export function isDatatype(value: unknown): value is Datatype {
  return typeof value === 'string' && Object.hasOwn(BYTE_SIZES, value);
}
