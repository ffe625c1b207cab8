import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SeededRandom } from '@gimbal/core';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import sharp from 'sharp';
import type { AnswerCheck, LoadCase } from './loadgen/plan.ts';

/** What the bare runtime does for a job, told to its own process by file. */
export type BareJob =
  | {
      readonly kind: 'tensor';
      readonly modelFile: string;
      readonly inputName: string;
      readonly shape: readonly number[];
      readonly inputFiles: readonly string[];
    }
  | {
      readonly kind: 'jpeg';
      readonly modelFile: string;
      readonly inputName: string;
      readonly side: number;
      readonly cropRatio: number;
      readonly inputFiles: readonly string[];
    }
  | {
      readonly kind: 'text';
      readonly modelFile: string;
      readonly tokenizerFile: string;

      readonly texts: readonly string[];
    };

export interface Job {
  readonly name: 'digits' | 'image-tensor' | 'jpeg' | 'text';
  readonly title: string;
  readonly bare: BareJob;
  readonly cases: readonly LoadCase[];
}

/** Different inputs per job: answers differ, so a mixed-up answer is seen. */
const CASES = 8;

export interface JobSources {
  /** Folder of the model that takes 224 × 224 images. */
  readonly imageModelFile: string;
  readonly imageModelName: string;
  readonly examples: string;
  readonly photos: string;
  /** Scratch folder for bodies. */
  readonly scratch: string;
}

const JSON_HEADERS = ['Content-Type: application/json'];

export async function prepareJobs(sources: JobSources): Promise<readonly Job[]> {
  mkdirSync(sources.scratch, { recursive: true });
  return [await digitsJob(sources), ...(await imageJobs(sources)), textJob(sources)];
}

/** Of the best score; two steps of the quantised image model. */
const TIE = 0.015;

/** One row of 64 numbers as JSON → the model's two outputs as JSON. */
async function digitsJob(sources: JobSources): Promise<Job> {
  const modelFile = join(sources.examples, 'digits/1/model.onnx');
  const session = await openSession(modelFile);
  const random = new SeededRandom(7);
  const cases: LoadCase[] = [];
  const inputFiles: string[] = [];
  for (let index = 0; index < CASES; index += 1) {
    const row = Float32Array.from({ length: 64 }, () =>
      random.next() < 0.5 ? 0 : Math.floor(random.next() * 17),
    );
    const outputs = await session.run({ pixels: new Tensor('float32', row, [1, 64]) });
    const labels = outputs.label?.data as BigInt64Array | undefined;
    const expected = Number(labels?.[0]);
    const bodyFile = write(sources, `digits-${index}.json`, JSON.stringify({ input: Array.from(row) }));
    inputFiles.push(write(sources, `digits-${index}.f32`, Buffer.from(row.buffer)));
    const check: AnswerCheck = { kind: 'integer-after', key: '"label":[', expected: [expected] };
    cases.push({ path: '/v1/models/digits/predict', headers: JSON_HEADERS, bodyFile, check });
  }
  const bare: BareJob = { kind: 'tensor', modelFile, inputName: 'pixels', shape: [1, 64], inputFiles };
  return { name: 'digits', title: 'digits: one row of 64 numbers, JSON in and out', bare, cases };
}

/** The 602 KB tensor by the V2 binary extension, and the same photos as JPEG → top 5. */
async function imageJobs(sources: JobSources): Promise<readonly [Job, Job]> {
  const side = 224;
  const cropRatio = 0.875;
  const session = await openSession(sources.imageModelFile);
  const photos = await photoVariants(sources);
  const tensorCases: LoadCase[] = [];
  const jpegCases: LoadCase[] = [];
  const inputFiles: string[] = [];
  for (const [index, photo] of photos.entries()) {
    const floats = await pixelsOf(photo, side, cropRatio);
    const outputs = await session.run({ image: new Tensor('float32', floats, [1, 3, side, side]) });
    const scores = outputs.scores?.data as Float32Array;
    const expected = argmax(scores);
    inputFiles.push(write(sources, `image-${index}.f32`, Buffer.from(floats.buffer)));
    const json = Buffer.from(
      JSON.stringify({
        inputs: [
          {
            name: 'image',
            shape: [1, 3, side, side],
            datatype: 'FP32',
            parameters: { binary_data_size: floats.byteLength },
          },
        ],
        outputs: [{ name: 'scores', parameters: { binary_data: true } }],
      }),
    );
    const tensorFile = write(sources, `image-${index}.v2`, Buffer.concat([json, Buffer.from(floats.buffer)]));
    tensorCases.push({
      path: `/v2/models/${sources.imageModelName}/infer`,
      headers: [`Inference-Header-Content-Length: ${json.length}`, 'Content-Type: application/octet-stream'],
      bodyFile: tensorFile,
      check: { kind: 'argmax-float32', count: 1000, expected },
    });
    jpegCases.push({
      path: `/v1/models/${sources.imageModelName}/predict`,
      headers: ['Content-Type: image/jpeg'],
      bodyFile: photo,
      check: { kind: 'integer-after', key: '"class_id":', expected: tiedWith(scores, expected) },
    });
  }
  const modelFile = sources.imageModelFile;
  const inputName = 'image';
  return [
    {
      name: 'image-tensor',
      title: 'image tensor: 602 KB FP32 [1,3,224,224], V2 binary, 1,000 scores back',
      bare: { kind: 'tensor', modelFile, inputName, shape: [1, 3, side, side], inputFiles },
      cases: tensorCases,
    },
    {
      name: 'jpeg',
      title: 'JPEG photo → decode, resize, infer → top 5 as JSON',
      bare: { kind: 'jpeg', modelFile, inputName, side, cropRatio, inputFiles: photos },
      cases: jpegCases,
    },
  ];
}

/** Short and longer sentences → 384 numbers. */
function textJob(sources: JobSources): Job {
  const folder = join(sources.examples, 'minilm/1');
  const texts = [
    'A man is eating food.',
    'The weather is lovely today, so we walked to the lake and stayed until the evening.',
    'Where is my parcel?',
    'Please reset the password of my account, the link in your mail has expired.',
    'Someone is playing a guitar.',
    'Overload is boring: the rest gets an immediate, honest refusal.',
    'He drove to the stadium.',
    'How do I return a pair of shoes that I bought in your shop two weeks ago?',
  ];
  return {
    name: 'text',
    title: 'sentence → 384 numbers as JSON (all-MiniLM-L6-v2)',
    bare: {
      kind: 'text',
      modelFile: join(folder, 'model.onnx'),
      tokenizerFile: join(folder, 'tokenizer.json'),
      texts,
    },
    cases: texts.map((text, index) => ({
      path: '/v1/models/minilm/predict',
      headers: ['Content-Type: text/plain; charset=utf-8'],
      bodyFile: write(sources, `text-${index}.txt`, text),
      check: { kind: 'none' },
    })),
  };
}

/** JPEGs of about 512 pixels: every JPEG among the samples, then mirrored ones, until there are enough. */
async function photoVariants(sources: JobSources): Promise<string[]> {
  const files = readdirSync(sources.photos)
    .filter((name) => name.endsWith('.jpg'))
    .sort();
  const photos: string[] = [];
  for (let index = 0; index < CASES; index += 1) {
    const original = readFileSync(join(sources.photos, files[index % files.length] as string));
    const turned = index < files.length ? sharp(original) : sharp(original).flip().negate();
    const jpeg = await turned.resize(512, 512, { fit: 'fill' }).jpeg({ quality: 90 }).toBuffer();
    photos.push(write(sources, `photo-${index}.jpg`, jpeg));
  }
  return photos;
}

async function pixelsOf(file: string, side: number, cropRatio: number): Promise<Float32Array> {
  const { width, height } = await sharp(file).metadata();
  const square = Math.floor(cropRatio * Math.min(width, height));
  const left = Math.floor((width - square + 1) / 2);
  const top = Math.floor((height - square + 1) / 2);
  const pixels = await sharp(file)
    .extract({ left, top, width: square, height: square })
    .resize(side, side, { kernel: 'cubic', fit: 'fill' })
    .removeAlpha()
    .raw()
    .toBuffer();
  const plane = side * side;
  return Float32Array.from({ length: 3 * plane }, (_, index) => {
    const channel = Math.floor(index / plane);
    return ((pixels[(index % plane) * 3 + channel] as number) - 127) / 128;
  });
}

function openSession(file: string): Promise<InferenceSession> {
  return InferenceSession.create(file, { intraOpNumThreads: 1, interOpNumThreads: 1, logSeverityLevel: 4 });
}

function argmax(scores: Float32Array): number {
  return scores.reduce((best, score, index) => (score > (scores[best] as number) ? index : best), 0);
}

/** Classes that a pixel rounded otherwise may put first: one photo has two equal scores in the quantised model. */
function tiedWith(scores: Float32Array, best: number): number[] {
  const top = scores[best] as number;
  return [...scores.keys()].filter((index) => (scores[index] as number) >= top - TIE * Math.abs(top));
}

function write(sources: JobSources, name: string, content: string | Buffer): string {
  const file = join(sources.scratch, name);
  writeFileSync(file, content);
  return file;
}
