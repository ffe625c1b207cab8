import { byteSizeOf, type Datatype, elementCount, fromHalf, JsonText, type VersionSpec } from '@gimbal/core';

/** A whole output, as `infer-answer.ts` has it. */
interface Scores {
  readonly spec: { readonly name: string; readonly datatype: Datatype };
  readonly shape: readonly number[];
  readonly pieces: readonly Uint8Array[];
}

interface Classes {
  readonly spec: { readonly name: string; readonly datatype: Datatype };
  readonly shape: readonly number[];
  readonly pieces: readonly Uint8Array[];
}

const text = new JsonText();

/**
 * The classification extension: of each row the `count` largest elements as BYTES `value:index[:label]`, largest first.
 * Labels are those of the version when it has one for each element.
 */
export function classify({ spec, shape, pieces }: Scores, count: number, version: VersionSpec): Classes {
  const batches = version.signature.batchAxis === 'dynamic';
  const rows = batches ? (shape[0] ?? 0) : 1;
  const width = elementCount(batches ? shape.slice(1) : shape) ?? 0;
  const kept = Math.min(count, width);
  const bytes = pieces.length === 1 ? (pieces[0] as Uint8Array) : Buffer.concat(pieces);
  const labels = version.labels?.length === width ? version.labels : undefined;
  const strings: Buffer[] = [];
  for (let row = 0; row < rows; row += 1) {
    const values = Array.from({ length: width }, (_, index) =>
      elementAt(bytes, spec.datatype, row * width + index),
    );
    const order = values
      .map((_, index) => index)
      .sort((left, right) => descending(values[left] ?? 0, values[right] ?? 0) || left - right);
    for (const index of order.slice(0, kept)) {
      const label = labels === undefined ? '' : `:${labels[index]}`;
      strings.push(Buffer.from(`${textOf(values[index] ?? 0, spec.datatype)}:${index}${label}`));
    }
  }
  const elements = strings.flatMap((string) => {
    const length = Buffer.alloc(4);
    length.writeUInt32LE(string.length);
    return [length, string];
  });
  return {
    spec: { name: spec.name, datatype: 'BYTES' },
    shape: batches ? [rows, kept] : [kept],
    pieces: [Buffer.concat(elements)],
  };
}

/** Largest first, NaN last; a subtraction would make equals of 64-bit integers past 2^53. */
function descending(left: number | bigint, right: number | bigint): number {
  if (left > right) return -1;
  if (left < right) return 1;
  return Number(Number.isNaN(left)) - Number(Number.isNaN(right));
}

/** Of float32 the shortest decimal that is the same float32, not the digits of the double it was widened to. */
function textOf(value: number | bigint, datatype: Datatype): string {
  if (datatype !== 'FP32' || typeof value === 'bigint' || !Number.isFinite(value)) return `${value}`;
  text.begin();
  text.float32(value);
  return Buffer.from(text.finish()).toString('latin1');
}

function elementAt(bytes: Uint8Array, datatype: Datatype, index: number): number | bigint {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const at = index * byteSizeOf(datatype);
  switch (datatype) {
    case 'FP32':
      return view.getFloat32(at, true);
    case 'FP64':
      return view.getFloat64(at, true);
    case 'FP16':
      return fromHalf(view.getUint16(at, true));
    case 'INT8':
      return view.getInt8(at);
    case 'INT16':
      return view.getInt16(at, true);
    case 'INT32':
      return view.getInt32(at, true);
    case 'INT64':
      return view.getBigInt64(at, true);
    case 'UINT8':
    case 'BOOL':
      return view.getUint8(at);
    case 'UINT16':
      return view.getUint16(at, true);
    case 'UINT32':
      return view.getUint32(at, true);
    case 'UINT64':
      return view.getBigUint64(at, true);
    case 'BYTES':
      return 0;
  }
}
