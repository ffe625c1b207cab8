import { isGimbalError } from '@gimbal/core';
import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { LITE0_IMAGE } from '../testing/a-version.ts';
import { sampleBytes } from '../testing/golden.ts';
import { frame } from './framing.ts';
import { decodeImage, type ImageHeader, type Pixels, readImageHeader } from './image-decoder.ts';

async function decode(bytes: Uint8Array): Promise<{ header: ImageHeader; pixels: Pixels }> {
  const header = await readImageHeader(bytes);
  const framing = frame(LITE0_IMAGE, header.upright);
  return { header, pixels: await decodeImage(bytes, header, { ...framing, resize: 'bicubic' }, copyOf) };
}

/** Pixels are valid only while they are consumed. */
function copyOf(pixels: Pixels): Pixels {
  return { ...pixels, bytes: new Uint8Array(pixels.bytes) };
}

async function codeOf(bytes: Uint8Array): Promise<string> {
  try {
    await decode(bytes);
  } catch (error) {
    if (isGimbalError(error)) return error.code;
    throw error;
  }
  return 'decoded';
}

/** A picture with a different value at every place, so that any displacement shows. */
function aGradient(width: number, height: number): Buffer {
  const bytes = Buffer.alloc(width * height * 3);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      bytes[(y * width + x) * 3] = Math.round((x / width) * 255);
      bytes[(y * width + x) * 3 + 1] = Math.round((y / height) * 255);
      bytes[(y * width + x) * 3 + 2] = Math.round(((x + y) / (width + height)) * 255);
    }
  }
  return bytes;
}

function meanDifference(left: Uint8Array, right: Uint8Array): number {
  expect(left.length).toBe(right.length);
  return left.reduce((sum, value, index) => sum + Math.abs(value - (right[index] ?? 0)), 0) / left.length;
}

describe('decoding of images', () => {
  it.each([
    ['edge/bomb-header-30000x30000.png', 'INPUT_TOO_LARGE'],
    ['edge/bomb-header-65500x65500.jpg', 'INPUT_TOO_LARGE'],
    ['edge/bomb-real-6000x6000.png', 'INPUT_TOO_LARGE'],
    ['edge/corrupt-crc.png', 'INVALID_INPUT'],
    ['edge/drawing.svg', 'UNSUPPORTED_MEDIA_TYPE'],
    ['edge/external-entity.svg', 'UNSUPPORTED_MEDIA_TYPE'],
    ['edge/jpeg-magic-only.jpg', 'INVALID_INPUT'],
    ['edge/page.pdf', 'UNSUPPORTED_MEDIA_TYPE'],
    ['edge/photo.bmp', 'UNSUPPORTED_MEDIA_TYPE'],
    ['edge/text-named-jpg.jpg', 'UNSUPPORTED_MEDIA_TYPE'],
    ['edge/truncated.jpg', 'INVALID_INPUT'],
    ['edge/zero-byte.png', 'INVALID_INPUT'],
  ])('refuses %s with %s', async (file, code) => {
    expect(await codeOf(sampleBytes(file))).toBe(code);
  });

  it.each([
    'edge/alpha.png',
    'edge/animated.gif',
    'edge/cmyk.jpg',
    'edge/exif-orientation-6.jpg',
    'edge/grey-16bit.png',
    'edge/grey.jpg',
    'edge/lossless.webp',
    'edge/one-pixel.png',
    'edge/palette.png',
    'edge/photo.avif',
    'edge/photo.tif',
    'edge/progressive.jpg',
    'edge/rgb-16bit.png',
    'edge/strip-2000x3.png',
    'edge/wrong-extension-png-inside.jpg',
  ])('decodes %s to the size that the network takes', async (file) => {
    const { pixels } = await decode(sampleBytes(file));
    expect([pixels.width, pixels.height]).toEqual([224, 224]);
    expect(pixels.bytes.length).toBe(224 * 224 * 3);
  });

  it.each(['jpeg', 'png', 'webp', 'avif', 'tiff'] as const)(
    'refuses every cut-off %s as INVALID_INPUT',
    async (format) => {
      const whole = await sharp(aGradient(300, 260), { raw: { width: 300, height: 260, channels: 3 } })
        .toFormat(format)
        .toBuffer();
      for (const share of [0.2, 0.5, 0.8, 0.97]) {
        const cut = whole.subarray(0, Math.floor(whole.length * share));
        expect(await codeOf(cut), `${format} cut to ${share}`).toBe('INVALID_INPUT');
      }
      expect(await codeOf(whole)).toBe('decoded');
    },
  );

  it('names the accepted formats and what it got instead', async () => {
    await expect(readImageHeader(sampleBytes('edge/page.pdf'))).rejects.toThrow(
      'expected JPEG, PNG, WebP, GIF, AVIF or TIFF, got a PDF document',
    );
  });

  it('never tells what the library or its files are called', async () => {
    await expect(decode(sampleBytes('edge/corrupt-crc.png'))).rejects.toThrow(
      /^Cannot decode the image: it is a PNG that is damaged or cut off, expected a complete image in [A-Za-z, ]+$/,
    );
  });

  it('leaves the library unable to open what is not accepted, should the sniffing ever fail', async () => {
    for (const file of ['edge/drawing.svg', 'edge/external-entity.svg', 'edge/page.pdf', 'edge/photo.bmp']) {
      await expect(sharp(sampleBytes(file)).metadata()).rejects.toThrow('unsupported image format');
    }
  });

  it('brings long strips to size, and refuses those longer than any photo', async () => {
    const strip = (width: number, height: number) =>
      sharp({ create: { width, height, channels: 3, background: '#336699' } })
        .png()
        .toBuffer();
    for (const [width, height] of [
      [60_000, 30],
      [30, 60_000],
      [1, 3_000],
    ] as const) {
      const bytes = await strip(width, height);
      const header = await readImageHeader(bytes);
      const framing = frame({ ...LITE0_IMAGE, crop: 'none' }, header.upright);
      const pixels = await decodeImage(bytes, header, { ...framing, resize: 'bicubic' }, copyOf);
      expect([...pixels.bytes.subarray(0, 3)]).toEqual([0x33, 0x66, 0x99]);
      expect(pixels.bytes.length).toBe(224 * 224 * 3);
    }
    expect(await codeOf(await strip(70_000, 2))).toBe('INPUT_TOO_LARGE');
  });

  it('puts transparent pixels over white', async () => {
    const clear = await sharp({ create: { width: 40, height: 40, channels: 4, background: '#ff000000' } })
      .png()
      .toBuffer();
    const { pixels } = await decode(clear);
    expect(new Set(pixels.bytes)).toEqual(new Set([255]));
  });

  it('keeps the high byte of 16-bit channels', async () => {
    const raw = new Uint16Array(64 * 64 * 3).fill(0x9cff);
    const deep = await sharp(raw, { raw: { width: 64, height: 64, channels: 3 } })
      .toColourspace('rgb16')
      .png()
      .toBuffer();
    expect((await sharp(deep).metadata()).depth).toBe('ushort');
    const { pixels } = await decode(deep);
    expect(new Set(pixels.bytes)).toEqual(new Set([0x9c]));
  });

  it('gives the same pixels, within the noise of JPEG, when it shrinks a large photo while decoding', async () => {
    const [width, height] = [2000, 1500];
    const photo = sharp(sampleBytes('images/polar-bear.jpg')).resize(width, height, {
      kernel: 'cubic',
      fit: 'fill',
    });
    const lossless = await photo.clone().png({ compressionLevel: 1 }).toBuffer();
    const jpeg = await photo.clone().jpeg({ quality: 97 }).toBuffer();
    const whole = await decode(lossless);
    const shrunk = await decode(jpeg);
    expect(meanDifference(whole.pixels.bytes, shrunk.pixels.bytes)).toBeLessThan(1.5);
  });
});
