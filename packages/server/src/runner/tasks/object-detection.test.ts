import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTaskAdapter } from './create.ts';
import type { TaskAdapter } from './task.ts';
import { aVersion, FACES_IMAGE } from './testing/a-version.ts';
import { readGolden, repositoryPath, sampleBytes } from './testing/golden.ts';
import { openSample, type SampleSession } from './testing/sample-session.ts';

interface Face {
  readonly class_id: number;
  readonly label: string;
  readonly confidence: number;
  readonly bbox: readonly [number, number, number, number];
  readonly landmarks: readonly number[];
}

const FILE = repositoryPath('examples/models/faces/1/model.onnx');
const golden = readGolden().faces;
let session: SampleSession;
let task: TaskAdapter;

beforeAll(async () => {
  session = await openSample(FILE);
  const spec = aVersion({
    task: 'object-detection',
    signature: session.signature,
    labels: ['face'],
    detection: { decoder: 'centerface', scoreThreshold: 0.5, nmsIou: 0.3, maxBoxes: 100 },
  });
  task = await createTaskAdapter(spec, {
    name: 'fp32',
    file: FILE,
    qualityRatio: undefined,
    image: FACES_IMAGE,
  });
});

afterAll(() => session.close());

async function detect(
  file: string,
  threshold = 0,
): Promise<{ faces: readonly Face[]; shape: readonly number[] }> {
  const prepared = await task.prepare(sampleBytes(file));
  const outputs = await session.run(prepared.tensors);
  const json = Buffer.from(task.answer(outputs, 1, { topK: 5, threshold }, prepared)).toString();
  const { predictions } = JSON.parse(`{${json}}`) as { predictions: Face[] };
  return { faces: predictions, shape: prepared.tensors[0]?.shape ?? [] };
}

function overlap(one: readonly number[], other: readonly number[]): number {
  const [a = 0, b = 0, c = 0, d = 0] = one;
  const [e = 0, f = 0, g = 0, h = 0] = other;
  const shared = Math.max(0, Math.min(c, g) - Math.max(a, e)) * Math.max(0, Math.min(d, h) - Math.max(b, f));
  return shared / ((c - a) * (d - b) + (g - e) * (h - f) - shared);
}

describe('object detection by centerface', () => {
  it.each(Object.entries(golden))('finds the golden faces of %s', async (file, expected) => {
    const { faces, shape } = await detect(file);
    const [width, height] = expected.network_size;
    expect(shape).toEqual([1, 3, height, width]);
    const sure = expected.boxes.filter((box) => box.score >= 0.6);
    expect(faces.filter((face) => face.confidence >= 0.66).length).toBeLessThanOrEqual(sure.length);
    for (const box of sure) {
      const face = faces.find((candidate) => overlap(candidate.bbox, box.box) >= 0.85);
      expect(face?.label).toBe('face');
      expect(Math.abs((face?.confidence ?? 0) - box.score)).toBeLessThan(0.06);
      for (const [index, place] of box.landmarks.entries()) {
        expect(Math.abs((face?.landmarks[index] ?? 0) - place)).toBeLessThan(6);
      }
    }
  });

  it('answers nothing where no score reaches the threshold', async () => {
    expect((await detect('images/astronaut-face.jpg', 0.99)).faces).toEqual([]);
  });

  it('gives boxes in pixels of the network to a client that sent the tensor itself', async () => {
    const prepared = await task.prepare(sampleBytes('images/grace-hopper-face.jpg'));
    const outputs = await session.run(prepared.tensors);
    const json = Buffer.from(task.answer(outputs, 1, { topK: 5, threshold: 0 }, undefined)).toString();
    const own = await detect('images/grace-hopper-face.jpg');
    const { predictions } = JSON.parse(`{${json}}`) as { predictions: Face[] };
    // 600 rows of the picture are 608 of the network.
    expect(predictions[0]?.bbox[3]).toBeCloseTo(((own.faces[0]?.bbox[3] ?? 0) * 608) / 600, 1);
  });
});
