import { readFileSync } from 'node:fs';
import type { ImageSpec } from '@gimbal/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTaskAdapter } from './create.ts';
import type { TaskAdapter } from './task.ts';
import { aVersion, LITE0_IMAGE, LITE2_IMAGE } from './testing/a-version.ts';
import { type GoldenPicture, readGolden, repositoryPath, sampleBytes } from './testing/golden.ts';
import { openSample, type SampleSession } from './testing/sample-session.ts';

interface Prediction {
  readonly class_id: number;
  readonly label: string;
  readonly confidence: number;
}

const EFFICIENTNET = repositoryPath('examples/models/efficientnet/1/');
const golden = readGolden();
/** Formats that Gimbal refuses although Pillow reads them, as the samples allow. */
const REFUSED_HERE = ['edge/photo.bmp'];

/** Variants that ship, with how close to the golden probabilities they must come (samples/ABOUT.md). */
const VARIANTS: readonly {
  golden: string;
  file: string;
  image: ImageSpec;
  tolerance: number;
  edgeTolerance: number;
}[] = [
  {
    golden: 'efficientnet-lite2',
    file: 'lite2.onnx',
    image: LITE2_IMAGE,
    tolerance: 0.05,
    edgeTolerance: 0.1,
  },
  {
    golden: 'efficientnet-lite2-int8',
    file: 'lite2-int8.onnx',
    image: LITE2_IMAGE,
    tolerance: 0.1,
    edgeTolerance: 0.1,
  },
  {
    golden: 'efficientnet-lite0-int8',
    file: 'lite0-int8.onnx',
    image: LITE0_IMAGE,
    tolerance: 0.1,
    edgeTolerance: 0.1,
  },
];

describe.each(VARIANTS)('image classification of $golden', (variant) => {
  let session: SampleSession;
  let task: TaskAdapter;

  beforeAll(async () => {
    session = await openSample(`${EFFICIENTNET}${variant.file}`, { exactInt8: true });
    const spec = aVersion({
      task: 'image-classification',
      signature: session.signature,
      labels: readFileSync(`${EFFICIENTNET}labels.txt`, 'utf8').trimEnd().split('\n'),
      classification: { activation: 'softmax', topK: 5 },
    });
    const file = `${EFFICIENTNET}${variant.file}`;
    task = await createTaskAdapter(spec, {
      name: 'golden',
      file,
      qualityRatio: undefined,
      image: variant.image,
    });
  });

  afterAll(() => session.close());

  async function classify(file: string): Promise<readonly Prediction[]> {
    const prepared = await task.prepare(sampleBytes(file));
    const outputs = await session.run(prepared.tensors);
    const json = task.answer(outputs, 1, { topK: 1000, threshold: 0 }, prepared);
    return (JSON.parse(`{${Buffer.from(json).toString()}}`) as { predictions: Prediction[] }).predictions;
  }

  async function expectGolden(file: string, picture: GoldenPicture, tolerance: number): Promise<void> {
    const top5 = picture.models[variant.golden]?.top5;
    if (top5 === undefined) return;
    const predictions = await classify(file);
    for (const { index, label, probability } of top5) {
      const ours = predictions.find((prediction) => prediction.class_id === index);
      expect(ours?.label).toBe(label);
      expect(Math.abs((ours?.confidence ?? Number.NaN) - probability)).toBeLessThan(tolerance);
    }
    const [first, second] = top5;
    if ((first?.probability ?? 0) - (second?.probability ?? 0) >= 0.1) {
      expect(predictions[0]?.class_id).toBe(first?.index);
    }
    expect(predictions.slice(0, 5).map((prediction) => prediction.class_id)).toContain(first?.index);
  }

  it.each(Object.entries(golden.classification))('agrees with the golden classes of %s', (file, picture) =>
    expectGolden(file, picture, variant.tolerance),
  );

  const decodable = Object.entries(golden.edge).filter(
    ([file, picture]) =>
      picture.expect === 'decode' &&
      !REFUSED_HERE.includes(file) &&
      picture.models[variant.golden] !== undefined,
  );
  if (decodable.length > 0) {
    it.each(decodable)('agrees with the golden classes of %s', (file, picture) =>
      expectGolden(file, picture, variant.edgeTolerance),
    );
  }
});
