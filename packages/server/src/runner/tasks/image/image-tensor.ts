import { type Datatype, GimbalError, type ImageSpec } from '@gimbal/core';
import { toHalfBits } from '../half-float.ts';
import type { PreparedTensor } from '../task.ts';
import type { Pixels } from './image-decoder.ts';
import { type Turn, turnSize, uprightWalk } from './orientation.ts';
import type { TensorMemory } from './tensor-memory.ts';

type Elements = Float32Array | Uint16Array | Uint8Array;

const VALUES = 256;
/** Bytes of a pixel. */
const RGB = 3;

/** Luma weights of ITU-R BT.601 in 16-bit fixed point, as Pillow's conversion to grey. */
const LUMA = { red: 19_595, green: 38_470, blue: 7_471, half: 0x8000 } as const;

/** Writes pixels into an input tensor: turned upright, normalised, in the declared channel order and layout. */
export class ImageTensorWriter {
  readonly #spec: ImageSpec;
  readonly #bytesPerElement: number;
  /** `(value - mean) / std` of every 8-bit value, one table per channel: the loop only looks up. */
  readonly #tables: readonly [Elements, Elements, Elements];

  readonly #memory: TensorMemory;

  constructor(spec: ImageSpec, datatype: Datatype, memory: TensorMemory) {
    this.#spec = spec;
    this.#memory = memory;
    this.#tables = [
      normalisationTable(spec, datatype, 0),
      normalisationTable(spec, datatype, 1),
      normalisationTable(spec, datatype, 2),
    ];
    this.#bytesPerElement = this.#tables[0].BYTES_PER_ELEMENT;
  }

  write(pixels: Pixels, turn: Turn): PreparedTensor {
    const { width, height } = turnSize(pixels, turn);
    const depth = this.#spec.colour === 'grey' ? 1 : 3;
    const memory = this.#memory.take(width * height * depth * this.#bytesPerElement);
    const elements = elementsOver(this.#tables[0], memory);
    if (this.#spec.colour === 'grey') this.#writeGrey(elements, pixels, turn);
    else this.#writeColour(elements, pixels, turn);
    const channelsFirst = this.#spec.layout === 'nchw';
    return { bytes: memory, shape: channelsFirst ? [1, depth, height, width] : [1, height, width, depth] };
  }

  #writeColour(elements: Elements, pixels: Pixels, turn: Turn): void {
    const { bytes } = pixels;
    const { width, height } = turnSize(pixels, turn);
    const walk = uprightWalk(pixels, turn);
    const planar = this.#spec.layout === 'nchw';
    const isBgr = this.#spec.colour === 'bgr';
    const stepX = walk.stepX * RGB;
    const spacing = planar ? 1 : RGB;
    for (let channel = 0; channel < RGB; channel += 1) {
      const table = this.#tables[channel] as Elements;
      const offset = isBgr ? 2 - channel : channel;
      const target = channel * (planar ? width * height : 1);
      for (let y = 0; y < height; y += 1) {
        const from = (walk.first + y * walk.stepY) * RGB + offset;
        writeRun(elements, target + y * width * spacing, spacing, { table, bytes, from, stepX, width });
      }
    }
  }

  #writeGrey(elements: Elements, pixels: Pixels, turn: Turn): void {
    const { bytes } = pixels;
    const { width, height } = turnSize(pixels, turn);
    const walk = uprightWalk(pixels, turn);
    const table = this.#tables[0];
    let to = 0;
    for (let y = 0; y < height; y += 1) {
      for (let x = 0; x < width; x += 1) {
        const from = (walk.first + y * walk.stepY + x * walk.stepX) * RGB;
        const weighted =
          LUMA.red * (bytes[from] ?? 0) +
          LUMA.green * (bytes[from + 1] ?? 0) +
          LUMA.blue * (bytes[from + 2] ?? 0);
        elements[to] = table[(weighted + LUMA.half) >> 16] as number;
        to += 1;
      }
    }
  }
}

interface Run {
  readonly table: Elements;
  readonly bytes: Uint8Array;
  readonly from: number;
  readonly stepX: number;
  readonly width: number;
}

/** One channel of one row. */
function writeRun(elements: Elements, at: number, spacing: number, run: Run): void {
  const { table, bytes, stepX, width } = run;
  let from = run.from;
  let to = at;
  for (let x = 0; x < width; x += 1) {
    elements[to] = table[bytes[from] as number] as number;
    from += stepX;
    to += spacing;
  }
}

/** Channel `index` of the tensor, so that a BGR model's mean and std are declared in its own order. */
function normalisationTable(spec: ImageSpec, datatype: Datatype, index: number): Elements {
  const mean = spec.mean[index] ?? spec.mean[0] ?? 0;
  const std = spec.std[index] ?? spec.std[0] ?? 1;
  const table = emptyTable(datatype);
  for (let value = 0; value < VALUES; value += 1) {
    const normalised = (value - mean) / std;
    table[value] = datatype === 'FP16' ? toHalfBits(normalised) : normalised;
  }
  return table;
}

function emptyTable(datatype: Datatype): Elements {
  switch (datatype) {
    case 'FP32':
      return new Float32Array(VALUES);
    case 'FP16':
      return new Uint16Array(VALUES);
    case 'UINT8':
      return new Uint8Array(VALUES);
    default:
      throw new GimbalError(
        'UNSUPPORTED',
        `Cannot prepare images: the model's input is ${datatype}, expected FP32, FP16 or UINT8`,
      );
  }
}

function elementsOver(table: Elements, memory: Uint8Array): Elements {
  const length = memory.byteLength / table.BYTES_PER_ELEMENT;
  if (table instanceof Float32Array) return new Float32Array(memory.buffer, memory.byteOffset, length);
  if (table instanceof Uint16Array) return new Uint16Array(memory.buffer, memory.byteOffset, length);
  return new Uint8Array(memory.buffer, memory.byteOffset, length);
}
