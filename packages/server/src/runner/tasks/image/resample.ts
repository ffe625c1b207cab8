import type { ImageSpec } from '@gimbal/core';
import type { Region, Size } from './framing.ts';
import type { Pixels } from './image-decoder.ts';
import { columns, FIRST_FREE_BYTE, kernelMemory, rows } from './resample-kernel.ts';

type Kernel = ImageSpec['resize'];

const CHANNELS = 3;

/** Weights are integers of this many fraction bits: products of 8-bit values stay within 32 bits, as in Pillow. */
const ONE = 1 << 14;
/** The kernel multiplies so many taps at a time. */
const TAPS_AT_ONCE = 4;
/** Bytes that the kernel may read or write past the end of a row. */
const OVERRUN_BYTES = 16;
const ALIGNMENT = 16;

/** For each place of the result along one axis: where its source pixels begin, and their weights. */
interface Plan {
  readonly first: Int32Array;
  /** `longest` for each place, a multiple of TAPS_AT_ONCE; unused ones are 0. */
  readonly weights: Int16Array;
  readonly longest: number;
}

/**
 * Resizes a region of an RGB picture, whose edges may lie between pixels, by separable convolution: the sampling points,
 * weights and 8-bit rounding between two passes of Pillow's `resize(size, resample, box)`, hence of the reference
 * preprocessing. Faster than libvips for pictures up to a few megapixels: building its pipeline alone costs more than
 * this whole resize. It also samples exactly where Pillow does when pictures grow (libvips does not: half a pixel off)
 * and can crop between pixels. The result is a view of memory that the next call writes: use it at once.
 */
export function resample(source: Pixels, box: Region, target: Size & { readonly kernel: Kernel }): Pixels {
  const across = planAxis(source.width, { from: box.left, length: box.width }, target.width, target.kernel);
  const down = planAxis(source.height, { from: box.top, length: box.height }, target.height, target.kernel);
  const sourceStride = source.width * CHANNELS;
  const narrowStride = align(sourceStride);
  const layout = layOut([
    source.bytes.length + down.longest * sourceStride + OVERRUN_BYTES,
    target.height * narrowStride + across.longest * CHANNELS + OVERRUN_BYTES,
    target.width * target.height * CHANNELS + OVERRUN_BYTES,
    across.first.byteLength,
    across.weights.byteLength,
    down.first.byteLength,
    down.weights.byteLength,
  ]);
  const [sourceAt, narrowAt, targetAt, acrossFirst, acrossWeights, downFirst, downWeights] = layout.addresses;
  const buffer = kernelMemory(layout.end);
  const memory = new Uint8Array(buffer);
  memory.set(source.bytes, sourceAt);
  new Int32Array(buffer, acrossFirst).set(across.first);
  new Int16Array(buffer, acrossWeights).set(across.weights);
  new Int32Array(buffer, downFirst).set(down.first);
  new Int16Array(buffer, downWeights).set(down.weights);
  // Along y first: its rows are contiguous, so the slower pass is left with the fewer rows.
  columns(
    sourceAt,
    sourceStride,
    narrowAt,
    narrowStride,
    sourceStride,
    target.height,
    downFirst,
    downWeights,
    down.longest,
  );
  rows(
    narrowAt,
    narrowStride,
    targetAt,
    target.width,
    target.height,
    acrossFirst,
    acrossWeights,
    across.longest,
  );
  const bytes = memory.subarray(targetAt, targetAt + target.width * target.height * CHANNELS);
  return { bytes, width: target.width, height: target.height };
}

type Addresses = readonly [number, number, number, number, number, number, number];

/** Places blocks one after the other in the kernel's memory. */
function layOut(byteLengths: readonly number[]): { readonly addresses: Addresses; readonly end: number } {
  let end = FIRST_FREE_BYTE;
  const addresses = byteLengths.map((byteLength) => {
    const at = end;
    end = align(end + byteLength);
    return at;
  });
  return { addresses: addresses as unknown as Addresses, end };
}

function align(byteLength: number): number {
  return Math.ceil(byteLength / ALIGNMENT) * ALIGNMENT;
}

/** Sampling plan of one axis (Pillow, Resample.c, precompute_coeffs): the kernel widens where the picture shrinks. */
function planAxis(
  available: number,
  box: { from: number; length: number },
  places: number,
  kernel: Kernel,
): Plan {
  const { reach: narrowReach, weight } = KERNELS[kernel];
  const scale = box.length / places;
  const widening = Math.max(1, scale);
  const reach = narrowReach * widening;
  const first = new Int32Array(places);
  const ends = new Int32Array(places);
  let most = 1;
  for (let place = 0; place < places; place += 1) {
    const centre = box.from + (place + 0.5) * scale;
    const start = Math.max(0, Math.floor(centre - reach + 0.5));
    const end = Math.min(available, Math.floor(centre + reach + 0.5));
    first[place] = start;
    ends[place] = end;
    most = Math.max(most, end - start);
  }
  const longest = Math.ceil(most / TAPS_AT_ONCE) * TAPS_AT_ONCE;
  const weights = new Int16Array(places * longest);
  const exact = new Float64Array(most);
  for (let place = 0; place < places; place += 1) {
    const offset = (first[place] as number) - (box.from + (place + 0.5) * scale) + 0.5;
    const count = (ends[place] as number) - (first[place] as number);
    let sum = 0;
    for (let tap = 0; tap < count; tap += 1) {
      const value = weight((offset + tap) / widening);
      exact[tap] = value;
      sum += value;
    }
    for (let tap = 0; tap < count; tap += 1) {
      weights[place * longest + tap] = Math.round(((exact[tap] as number) / sum) * ONE);
    }
  }
  return { first, weights, longest };
}

/** `reach`: distance from the centre, in source pixels of a picture that does not shrink, beyond which weights are 0. */
const KERNELS: Readonly<Record<Kernel, { reach: number; weight(distance: number): number }>> = {
  bicubic: { reach: 2, weight: cubicWeight },
  bilinear: { reach: 1, weight: (distance) => Math.max(0, 1 - Math.abs(distance)) },
  nearest: { reach: 0.5, weight: () => 1 },
};

/** Keys' cubic with a = -0.5 (Catmull-Rom). */
function cubicWeight(distance: number): number {
  const x = Math.abs(distance);
  if (x < 1) return (1.5 * x - 2.5) * x * x + 1;
  return x < 2 ? ((-0.5 * x + 2.5) * x - 4) * x + 2 : 0;
}
