import fc from 'fast-check';
import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { sampleBytes } from '../testing/golden.ts';
import { describeForeignContent, sniffImageFormat } from './image-format.ts';
import { readJpegHeader } from './jpeg-header.ts';
import { readPngHeader } from './png-header.ts';

describe('header of a JPEG', () => {
  it.each([
    ['images/coffee.jpg', { width: 600, height: 400, components: 3, orientation: 1, complete: true }],
    [
      'edge/exif-orientation-6.jpg',
      { width: 300, height: 451, components: 3, orientation: 6, complete: true },
    ],
    ['edge/cmyk.jpg', { width: 225, height: 150, components: 4, orientation: 1, complete: true }],
    ['edge/grey.jpg', { width: 451, height: 300, components: 1, orientation: 1, complete: true }],
    ['edge/progressive.jpg', { width: 451, height: 300, components: 3, orientation: 1, complete: true }],
    ['edge/truncated.jpg', { width: 451, height: 300, components: 3, orientation: 1, complete: false }],
  ])('of %s is read as the library reads it', (file, header) => {
    expect(readJpegHeader(sampleBytes(file))).toEqual(header);
  });

  it('is not fooled by the thumbnail inside the EXIF block', async () => {
    const thumbnail = await sharp({ create: { width: 8, height: 8, channels: 3, background: '#fff' } })
      .jpeg()
      .toBuffer();
    const photo = sampleBytes('images/coffee.jpg');
    const segment = Buffer.concat([Buffer.from('Exif\0\0'), Buffer.alloc(8), thumbnail]);
    const length = Buffer.from([0xff, 0xe1, (segment.length + 2) >> 8, (segment.length + 2) & 255]);
    const nested = Buffer.concat([photo.subarray(0, 2), length, segment, photo.subarray(2)]);
    expect(readJpegHeader(nested)).toEqual({
      width: 600,
      height: 400,
      components: 3,
      orientation: 1,
      complete: true,
    });
    expect(readJpegHeader(nested.subarray(0, nested.length - 400))?.complete).toBe(false);
  });
});

describe('header of a PNG', () => {
  it('is read when every checksum is right', () => {
    expect(readPngHeader(sampleBytes('edge/alpha.png'))).toEqual({ width: 225, height: 150, orientation: 1 });
  });

  it('gives the orientation of an EXIF chunk', async () => {
    const picture = sharp({ create: { width: 8, height: 4, channels: 3, background: '#fff' } });
    const png = await picture.withMetadata({ orientation: 8 }).png().toBuffer();
    expect(readPngHeader(png)).toEqual({ width: 8, height: 4, orientation: 8 });
  });

  it('is refused when any byte was changed or the end is missing', () => {
    const png = Buffer.from(sampleBytes('edge/palette.png'));
    fc.assert(
      fc.property(
        fc.integer({ min: 8, max: png.length - 1 }),
        fc.integer({ min: 1, max: 255 }),
        (at, change) => {
          const damaged = Buffer.from(png);
          damaged[at] = (damaged[at] ?? 0) ^ change;
          expect(readPngHeader(damaged)).toBeUndefined();
          expect(readPngHeader(png.subarray(0, at))).toBeUndefined();
        },
      ),
    );
  });
});

describe('image headers', () => {
  it('end for any bytes whatever, without reading past them', () => {
    const start = fc.constantFrom(
      [0xff, 0xd8, 0xff, 0xe1],
      [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a],
      [],
    );
    fc.assert(
      fc.property(start, fc.uint8Array({ maxLength: 300 }), (magic, rest) => {
        const bytes = Uint8Array.from([...magic, ...rest]);
        sniffImageFormat(bytes);
        describeForeignContent(bytes);
        readJpegHeader(bytes);
        readPngHeader(bytes);
      }),
      { numRuns: 3_000 },
    );
  });

  it('know a format by its content alone', async () => {
    expect(sniffImageFormat(sampleBytes('edge/wrong-extension-png-inside.jpg'))).toBe('png');
    expect(sniffImageFormat(sampleBytes('edge/photo.avif'))).toBe('avif');
    expect(sniffImageFormat(sampleBytes('edge/photo.tif'))).toBe('tiff');
    expect(sniffImageFormat(sampleBytes('edge/animated.gif'))).toBe('gif');
    expect(sniffImageFormat(sampleBytes('edge/lossless.webp'))).toBe('webp');
    expect(sniffImageFormat(Buffer.from('\0\0\0\x18ftypheic\0\0\0\0mif1heic'))).toBeUndefined();
  });

  it('say what refused content seems to be', () => {
    expect(describeForeignContent(sampleBytes('edge/drawing.svg'))).toBe('an SVG drawing');
    expect(describeForeignContent(sampleBytes('edge/external-entity.svg'))).toBe('an SVG drawing');
    expect(describeForeignContent(sampleBytes('edge/photo.bmp'))).toBe('a BMP image');
    expect(describeForeignContent(Buffer.from('hello'))).toBe('content that is no known image format');
  });
});
