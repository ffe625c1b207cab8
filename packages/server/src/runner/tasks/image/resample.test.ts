import { describe, expect, it } from 'vitest';
import type { Pixels } from './image-decoder.ts';
import { resample } from './resample.ts';

/** A picture without any smoothness, so that every wrong weight shows, and far from black and white: nothing is clipped. */
function aPicture(): Pixels {
  const [width, height] = [8, 6];
  const bytes = new Uint8Array(width * height * 3);
  for (let pixel = 0; pixel < width * height; pixel += 1) {
    const [x, y] = [pixel % width, Math.floor(pixel / width)];
    bytes.fill(64 + Math.floor(((x * 37 + y * 91 + x * y * 13 + 7) % 256) / 2), pixel * 3, (pixel + 1) * 3);
  }
  return { bytes, width, height };
}

/** Computed by Pillow 13.0.0: `Image.resize(size, kernel, box)`. */
const PILLOW = [
  {
    kernel: 'bicubic',
    size: { width: 11, height: 9 },
    box: { left: 0, top: 0, width: 8, height: 6 },
    // biome-ignore format: a table of pixels
    expected: [63, 74, 88, 101, 114, 132, 149, 162, 186, 133, 57, 85, 97, 116, 137, 157, 134, 110, 131, 157, 143, 111, 121, 137, 152, 158, 185, 138, 89, 116, 122, 141, 163, 156, 182, 165, 98, 121, 140, 159, 182, 114, 102, 133, 115, 140, 145, 123, 153, 143, 135, 170, 148, 116, 95, 74, 98, 126, 148, 186, 148, 103, 126, 169, 146, 91, 109, 147, 144, 87, 126, 160, 152, 90, 122, 156, 170, 149, 138, 122, 108, 89, 118, 146, 127, 107, 129, 166, 174, 117, 98, 144, 72, 77, 127, 171, 108, 102, 141],
  },
  {
    kernel: 'bicubic',
    size: { width: 3, height: 2 },
    box: { left: 0, top: 0, width: 8, height: 6 },
    // biome-ignore format: a table of pixels
    expected: [126, 139, 134, 128, 129, 133],
  },
  {
    kernel: 'bilinear',
    size: { width: 5, height: 7 },
    box: { left: 0, top: 0, width: 8, height: 6 },
    // biome-ignore format: a table of pixels
    expected: [75, 103, 132, 161, 114, 113, 149, 136, 122, 142, 154, 137, 140, 141, 124, 132, 137, 143, 149, 117, 109, 136, 145, 132, 136, 138, 112, 134, 120, 150, 135, 114, 95, 137, 119],
  },
  {
    kernel: 'bicubic',
    size: { width: 3, height: 3 },
    box: { left: 0.7, top: 1.25, width: 6.2, height: 4.25 },
    // biome-ignore format: a table of pixels
    expected: [149, 139, 130, 130, 146, 141, 124, 120, 126],
  },
  {
    kernel: 'bicubic',
    size: { width: 8, height: 6 },
    box: { left: 0, top: 0, width: 8, height: 6 },
    // biome-ignore format: a table of pixels
    expected: [67, 86, 104, 123, 141, 160, 178, 69, 113, 138, 163, 188, 85, 110, 135, 160, 158, 190, 93, 125, 156, 188, 91, 123, 76, 114, 152, 190, 100, 138, 176, 86, 121, 166, 82, 127, 171, 88, 132, 177, 167, 90, 141, 64, 115, 166, 89, 140],
  },
] as const;

describe('resampling', () => {
  it.each(PILLOW)('gives what Pillow gives: $kernel to $size of $box', ({ kernel, size, box, expected }) => {
    const { bytes } = resample(aPicture(), box, { ...size, kernel });
    expect(bytes.length).toBe(expected.length * 3);
    for (const [pixel, value] of expected.entries()) {
      for (const channel of [0, 1, 2]) {
        expect(Math.abs((bytes[pixel * 3 + channel] ?? 999) - value)).toBeLessThanOrEqual(1);
      }
    }
  });

  it('keeps channels apart, at every size', () => {
    const [width, height] = [13, 9];
    const bytes = Uint8Array.from(
      { length: width * height * 3 },
      (_, index) => [10, 100, 200][index % 3] ?? 0,
    );
    for (const side of [1, 2, 5, 16, 33]) {
      const result = resample(
        { bytes, width, height },
        { left: 0, top: 0, width, height },
        { width: side, height: side, kernel: 'bicubic' },
      );
      expect([...result.bytes].every((value, index) => value === [10, 100, 200][index % 3])).toBe(true);
    }
  });

  it('reads only the picture that it is given, not what an earlier one left behind', () => {
    const all = (value: number, side: number) => ({
      bytes: new Uint8Array(side * side * 3).fill(value),
      width: side,
      height: side,
    });
    resample(
      all(255, 300),
      { left: 0, top: 0, width: 300, height: 300 },
      { width: 64, height: 64, kernel: 'bicubic' },
    );
    const dark = resample(
      all(0, 5),
      { left: 0, top: 0, width: 5, height: 5 },
      { width: 64, height: 64, kernel: 'bicubic' },
    );
    expect(new Set(dark.bytes)).toEqual(new Set([0]));
  });

  it('leaves a picture alone whose size does not change', () => {
    const picture = aPicture();
    const same = resample(
      picture,
      { left: 0, top: 0, width: 8, height: 6 },
      { width: 8, height: 6, kernel: 'bicubic' },
    );
    expect([...same.bytes]).toEqual([...picture.bytes]);
  });

  it('keeps a single colour exactly, however it is stretched', () => {
    const grey = { bytes: new Uint8Array(30 * 2 * 3).fill(201), width: 30, height: 2 };
    const box = { left: 0.3, top: 0, width: 29, height: 2 };
    for (const kernel of ['bicubic', 'bilinear', 'nearest'] as const) {
      const { bytes } = resample(grey, box, { width: 7, height: 50, kernel });
      expect(new Set(bytes)).toEqual(new Set([201]));
    }
  });
});
