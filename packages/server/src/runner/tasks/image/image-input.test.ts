import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { aSignature, aTensor, FACES_IMAGE, LITE0_IMAGE } from '../testing/a-version.ts';
import { sampleBytes } from '../testing/golden.ts';
import { ImageInput } from './image-input.ts';

const SIGNATURE = aSignature({ inputs: [aTensor('image', 'FP32', [-1, 3, 224, 224])] });

async function tensorOf(
  bytes: Uint8Array,
  input = new ImageInput(SIGNATURE, LITE0_IMAGE),
): Promise<Float32Array> {
  const prepared = await input.prepare(bytes);
  const tensor = prepared.tensors[0];
  if (tensor === undefined) throw new Error('no tensor');
  return new Float32Array(
    tensor.bytes.buffer as ArrayBuffer,
    tensor.bytes.byteOffset,
    tensor.bytes.byteLength / 4,
  );
}

/** Left half red, top half also green: every turn and mirror image of it is different. */
async function aFlag(orientation: number | undefined): Promise<Buffer> {
  const [width, height] = [96, 64];
  const raw = Buffer.alloc(width * height * 3);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      raw[(y * width + x) * 3] = x < width / 2 ? 255 : 0;
      raw[(y * width + x) * 3 + 1] = y < height / 2 ? 255 : 0;
    }
  }
  const flag = sharp(raw, { raw: { width, height, channels: 3 } });
  const oriented = orientation === undefined ? flag : flag.withMetadata({ orientation });
  return oriented.jpeg({ quality: 100, chromaSubsampling: '4:4:4' }).toBuffer();
}

describe('image input', () => {
  it.each([1, 2, 3, 4, 5, 6, 7, 8])(
    'stands a picture of EXIF orientation %i upright as the library does',
    async (orientation) => {
      const turned = await aFlag(orientation);
      const upright = await sharp(turned).autoOrient().png().toBuffer();
      const [ours, theirs] = [await tensorOf(turned), await tensorOf(upright)];
      const largest = ours.reduce(
        (max, value, index) => Math.max(max, Math.abs(value - (theirs[index] ?? 0))),
        0,
      );
      expect(largest).toBeLessThan(0.05);
    },
  );

  it('keeps pictures apart that are prepared at the same time, and after their memory was used again', async () => {
    const input = new ImageInput(SIGNATURE, LITE0_IMAGE);
    const files = ['images/coffee.jpg', 'images/rocket.jpg', 'images/chelsea-cat.png', 'images/hammer.jpg'];
    const alone = await Promise.all(files.map((file) => tensorOf(sampleBytes(file))));
    for (let round = 0; round < 3; round += 1) {
      const items = await Promise.all(files.map((file) => input.prepare(sampleBytes(file))));
      for (const [index, item] of items.entries()) {
        const expected = Buffer.from(alone[index]?.buffer as ArrayBuffer);
        expect(expected.equals(item.tensors[0]?.bytes ?? new Uint8Array(0))).toBe(true);
      }
      for (const item of items) input.release(item);
    }
  });

  it('tells the size of the upright picture', async () => {
    const prepared = await new ImageInput(SIGNATURE, LITE0_IMAGE).prepare(
      sampleBytes('edge/exif-orientation-6.jpg'),
    );
    expect(prepared.context.upright).toEqual({ width: 451, height: 300 });
  });

  it('writes channels first or last, in RGB or BGR, as declared', async () => {
    const red = await sharp({ create: { width: 8, height: 8, channels: 3, background: '#ff0000' } })
      .png()
      .toBuffer();
    const plain = { ...LITE0_IMAGE, size: [2, 1] as const, mean: [0, 0, 0], std: [1, 1, 1] };
    const signature = aSignature({ inputs: [aTensor('image', 'FP32', [-1, 3, 1, 2])] });
    const written = async (change: object) => [
      ...(await tensorOf(red, new ImageInput(signature, { ...plain, ...change }))),
    ];
    expect(await written({})).toEqual([255, 255, 0, 0, 0, 0]);
    expect(await written({ layout: 'nhwc' })).toEqual([255, 0, 0, 255, 0, 0]);
    expect(await written({ colour: 'bgr' })).toEqual([0, 0, 0, 0, 255, 255]);
    expect(await written({ colour: 'bgr', layout: 'nhwc' })).toEqual([0, 0, 255, 0, 0, 255]);
    expect(await written({ colour: 'grey', mean: [0], std: [1] })).toEqual([76, 76]);
  });

  it('normalises each channel by its own mean and deviation', async () => {
    const colour = await sharp({ create: { width: 8, height: 8, channels: 3, background: '#0a141e' } })
      .png()
      .toBuffer();
    const image = { ...LITE0_IMAGE, size: [1, 1] as const, mean: [0, 10, 20], std: [1, 2, 4] };
    expect([...(await tensorOf(colour, new ImageInput(SIGNATURE, image)))]).toEqual([10, 5, 2.5]);
  });

  it('rounds the size of a free network up and keeps a large picture under its limit', async () => {
    const shapeOf = async (width: number, height: number) => {
      const picture = await sharp({ create: { width, height, channels: 3, background: '#123456' } })
        .png()
        .toBuffer();
      return (await new ImageInput(SIGNATURE, FACES_IMAGE).prepare(picture)).tensors[0]?.shape;
    };
    expect(await shapeOf(600, 400)).toEqual([1, 3, 416, 608]);
    expect(await shapeOf(2000, 1000)).toEqual([1, 3, 640, 1280]);
    expect(await shapeOf(1, 1)).toEqual([1, 3, 32, 32]);
    expect(await shapeOf(2000, 3)).toEqual([1, 3, 32, 1280]);
  });
});
