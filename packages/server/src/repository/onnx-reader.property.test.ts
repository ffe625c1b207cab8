import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isGimbalError, randomInteger, SeededRandom } from '@gimbal/core';
import { afterAll, expect, it } from 'vitest';
import { readOnnxModel } from './onnx-reader.ts';
import { FIXTURE_MODELS } from './testing/temporary-folder.ts';

const FILES = 5_000;
const SEED = 20_260_101;

/** Far above what any of these small files may take, on a busy machine. */
const LIMIT_MS = 2_000;

const folder = mkdtempSync(join(tmpdir(), 'gimbal-fuzz-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const originals = [
  'add-sub',
  'all-types',
  'bad-shape',
  'digits-mlp',
  'memory-hog',
  'nan-maker',
  'sequence-slow',
].map((name) => readFileSync(join(FIXTURE_MODELS, name, '1', 'model.onnx')));

/** Bytes that mean something to protobuf: ends of varints, tags, large lengths. */
const TELLING = [0x00, 0x01, 0x7f, 0x80, 0xff, 0x0a, 0x12, 0x3a, 0x2a, 0x4a, 0x08];

function damaged(random: SeededRandom): Buffer {
  const original = originals[randomInteger(random, { low: 0, high: originals.length - 1 })] as Buffer;
  const bytes = Buffer.from(original);
  const at = (): number => randomInteger(random, { low: 0, high: bytes.length - 1 });
  switch (randomInteger(random, { low: 0, high: 4 })) {
    case 0:
      return bytes.subarray(0, at());
    case 1: {
      const flips = randomInteger(random, { low: 1, high: 12 });
      for (let flip = 0; flip < flips; flip += 1) bytes[at()] = randomInteger(random, { low: 0, high: 255 });
      return bytes;
    }
    case 2: {
      // Structure is at the beginning and the end of these files: damage is densest there.
      const near = Math.min(bytes.length, 64);
      const places = [
        randomInteger(random, { low: 0, high: near - 1 }),
        bytes.length - 1 - randomInteger(random, { low: 0, high: near - 1 }),
      ];
      for (const place of places)
        bytes[place] = TELLING[randomInteger(random, { low: 0, high: TELLING.length - 1 })] ?? 0;
      return bytes;
    }
    case 3: {
      const from = at();
      return Buffer.concat([
        bytes.subarray(0, from),
        bytes.subarray(Math.min(bytes.length, from + randomInteger(random, { low: 1, high: 40 }))),
      ]);
    }
    default: {
      const from = at();
      return Buffer.concat([bytes.subarray(0, from), bytes.subarray(at()), bytes.subarray(from)]);
    }
  }
}

it(`reading ${FILES} damaged models ends each time, with a description or a refusal`, {
  timeout: 120_000,
}, async () => {
  const random = new SeededRandom(SEED);
  const path = join(folder, 'model.onnx');
  const seen = { read: 0, refused: 0 };
  for (let index = 0; index < FILES; index += 1) {
    writeFileSync(path, damaged(random));
    const startedAt = performance.now();
    try {
      const model = await readOnnxModel(path);
      expect(model.inputs.length).toBeGreaterThan(0);
      seen.read += 1;
    } catch (error) {
      if (!isGimbalError(error))
        throw new Error(`file ${index} of seed ${SEED}: ${String(error)}`, { cause: error });
      expect(error.code).toBe('MODEL_UNAVAILABLE');
      expect(error.message).toMatch(/^Cannot load "model\.onnx": .*expected .*got /s);
      seen.refused += 1;
    }
    expect(performance.now() - startedAt, `file ${index} of seed ${SEED}`).toBeLessThan(LIMIT_MS);
  }
  // Both ends are met, or the damage would test nothing.
  expect(seen.read).toBeGreaterThan(FILES / 20);
  expect(seen.refused).toBeGreaterThan(FILES / 5);
});
