/** Writes small ONNX files for tests, field by field as onnx.proto numbers them. */

const FLOAT = 1;

export interface BuiltTensor {
  readonly name: string;
  readonly elementType?: number;
  /** Numbers are fixed, names and null are free; undefined leaves the rank out. */
  readonly axes?: readonly (number | string | null)[] | undefined;
}

export interface BuiltModel {
  readonly irVersion?: number;
  readonly opset?: number;
  readonly inputs?: readonly BuiltTensor[];
  readonly outputs?: readonly BuiltTensor[];
  readonly initializers?: readonly Buffer[];
  readonly nodes?: readonly Buffer[];
  readonly producer?: string;
}

export function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  do {
    const low = Number(rest & 127n);
    rest >>= 7n;
    bytes.push(rest > 0n ? low | 128 : low);
  } while (rest > 0n);
  return Buffer.from(bytes);
}

export function integerField(number: number, value: number): Buffer {
  return Buffer.concat([varint(number * 8), varint(value)]);
}

export function bytesField(number: number, content: Buffer | string): Buffer {
  const bytes = Buffer.from(content);
  return Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes]);
}

/** A model that copies its first input to its first output, unless told otherwise. */
export function buildModel(model: BuiltModel = {}): Buffer {
  const { inputs = [{ name: 'x', axes: ['batch', 4] }], outputs = [{ name: 'y', axes: ['batch', 4] }] } =
    model;
  const graph = Buffer.concat([
    ...(model.nodes ?? [node('Identity', { inputs: ['x'], outputs: ['y'] })]).map((one) =>
      bytesField(1, one),
    ),
    bytesField(2, 'graph'),
    ...(model.initializers ?? []).map((one) => bytesField(5, one)),
    ...inputs.map((input) => bytesField(11, valueInfo(input))),
    ...outputs.map((output) => bytesField(12, valueInfo(output))),
  ]);
  return Buffer.concat([
    integerField(1, model.irVersion ?? 8),
    bytesField(2, model.producer ?? 'test'),
    bytesField(8, Buffer.concat([bytesField(1, ''), integerField(2, model.opset ?? 17)])),
    bytesField(7, graph),
  ]);
}

export function node(
  operator: string,
  parts: {
    inputs?: readonly string[];
    outputs?: readonly string[];
    attributes?: readonly Buffer[];
    domain?: string;
  } = {},
): Buffer {
  return Buffer.concat([
    ...(parts.inputs ?? []).map((name) => bytesField(1, name)),
    ...(parts.outputs ?? []).map((name) => bytesField(2, name)),
    bytesField(4, operator),
    ...(parts.attributes ?? []).map((attribute) => bytesField(5, attribute)),
    bytesField(7, parts.domain ?? ''),
  ]);
}

/** An attribute that holds a graph, as Loop and If have them. */
export function graphAttribute(graph: Buffer): Buffer {
  return Buffer.concat([bytesField(1, 'body'), bytesField(6, graph)]);
}

export function valueInfo({ name, elementType = FLOAT, axes }: BuiltTensor): Buffer {
  const shape = (axes ?? []).map((axis) => {
    if (axis === null) return bytesField(1, Buffer.alloc(0));
    return bytesField(1, typeof axis === 'number' ? integerField(1, axis) : bytesField(2, axis));
  });
  const tensor = Buffer.concat([
    integerField(1, elementType),
    ...(axes === undefined ? [] : [bytesField(2, Buffer.concat(shape))]),
  ]);
  return Buffer.concat([bytesField(1, name), bytesField(2, bytesField(1, tensor))]);
}

/** A sequence of maps, as scikit-learn's ZipMap gives. */
export function sequenceInfo(name: string): Buffer {
  return Buffer.concat([bytesField(1, name), bytesField(2, bytesField(4, Buffer.alloc(0)))]);
}

export function initializer(name: string, rawBytes = 16): Buffer {
  return Buffer.concat([integerField(2, FLOAT), bytesField(8, name), bytesField(9, Buffer.alloc(rawBytes))]);
}

/** A tensor whose data is in another file. */
export function externalInitializer(name: string, entries: Readonly<Record<string, string>>): Buffer {
  return Buffer.concat([
    integerField(2, FLOAT),
    bytesField(8, name),
    ...Object.entries(entries).map(([key, value]) =>
      bytesField(13, Buffer.concat([bytesField(1, key), bytesField(2, value)])),
    ),
    integerField(14, 1),
  ]);
}
