/** Datatypes by their Open Inference Protocol names. */
export const DATATYPES = [
  'BOOL',
  'UINT8',
  'UINT16',
  'UINT32',
  'UINT64',
  'INT8',
  'INT16',
  'INT32',
  'INT64',
  'FP16',
  'FP32',
  'FP64',
  'BYTES',
] as const;

export type Datatype = (typeof DATATYPES)[number];

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
  FP32: 4,
  FP64: 8,
  BYTES: 0,
};

/** Bytes of one element; 0 for BYTES, whose elements carry their own length. */
export function byteSizeOf(datatype: Datatype): number {
  return BYTE_SIZES[datatype];
}

export function isDatatype(value: unknown): value is Datatype {
  return typeof value === 'string' && Object.hasOwn(BYTE_SIZES, value);
}

/** ONNX tensor element types by the names that onnxruntime uses. `bfloat16` and the fp8 types cannot be loaded. */
const ONNX_TYPES: Readonly<Record<string, Datatype>> = {
  bool: 'BOOL',
  uint8: 'UINT8',
  uint16: 'UINT16',
  uint32: 'UINT32',
  uint64: 'UINT64',
  int8: 'INT8',
  int16: 'INT16',
  int32: 'INT32',
  int64: 'INT64',
  float16: 'FP16',
  float32: 'FP32',
  float64: 'FP64',
  string: 'BYTES',
};

const TO_ONNX = Object.fromEntries(Object.entries(ONNX_TYPES).map(([onnx, ours]) => [ours, onnx])) as Record<
  Datatype,
  string
>;

export function datatypeOfOnnx(onnxType: string): Datatype | undefined {
  return ONNX_TYPES[onnxType];
}

export function onnxTypeOf(datatype: Datatype): string {
  return TO_ONNX[datatype];
}
