import { readFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { Tokenizer } from '@huggingface/tokenizers';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import sharp from 'sharp';
import type { BareJob } from './jobs.ts';

/**
 * The bare runtime: onnxruntime-node in one process with one thread, fed from memory in a loop, no server around it.
 * JPEG is decoded in full and resized by the reference way (no shrink on load), as the sample models' goldens were made.
 * Usage: bare.ts JOB.json SECONDS → one JSON line.
 */
const [jobFile, secondsText] = process.argv.slice(2);
if (jobFile === undefined || secondsText === undefined) {
  process.stderr.write('Usage: node bench/bare.ts JOB.json SECONDS\n');
  process.exit(2);
}
const job = JSON.parse(readFileSync(jobFile, 'utf8')) as BareJob;
sharp.concurrency(1);
sharp.cache(false);
const session = await InferenceSession.create(job.modelFile, {
  intraOpNumThreads: 1,
  interOpNumThreads: 1,
  logSeverityLevel: 4,
});
const once = await loop(job);
for (let warm = 0; warm < 20; warm += 1) await once(warm);

const latencies: number[] = [];
const cpuBefore = process.cpuUsage();
const start = performance.now();
const end = start + Number(secondsText) * 1000;
for (let turn = 0; performance.now() < end; turn += 1) {
  const before = performance.now();
  await once(turn);
  latencies.push(performance.now() - before);
}
const seconds = (performance.now() - start) / 1000;
const cpu = process.cpuUsage(cpuBefore);
latencies.sort((left, right) => left - right);
process.stdout.write(
  `${JSON.stringify({
    itemsPerSecond: latencies.length / seconds,
    p50Ms: latencies[Math.floor(latencies.length / 2)],
    p99Ms: latencies[Math.floor(latencies.length * 0.99)],
    cpuMsPerItem: (cpu.user + cpu.system) / 1000 / latencies.length,
  })}\n`,
);

async function loop(job: BareJob): Promise<(turn: number) => Promise<unknown>> {
  switch (job.kind) {
    case 'tensor': {
      const feeds = job.inputFiles.map((file) => {
        const bytes = readFileSync(file);
        const floats = new Float32Array(
          bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length),
        );
        return { [job.inputName]: new Tensor('float32', floats, job.shape) };
      });
      return (turn) => session.run(feeds[turn % feeds.length] as Record<string, Tensor>);
    }
    case 'jpeg': {
      const files = job.inputFiles.map((file) => readFileSync(file));
      return async (turn) => {
        const floats = await referencePixels(files[turn % files.length] as Buffer, job.side, job.cropRatio);
        const outputs = await session.run({
          [job.inputName]: new Tensor('float32', floats, [1, 3, job.side, job.side]),
        });
        return topFive(Object.values(outputs)[0]?.data as Float32Array);
      };
    }
    case 'text': {
      const read = (file: string): Record<string, unknown> => JSON.parse(readFileSync(file, 'utf8'));
      const tokenizer = new Tokenizer(read(job.tokenizerFile), {});
      return (turn) => {
        const { ids } = tokenizer.encode(job.texts[turn % job.texts.length] as string);
        const int64 = (values: readonly number[]): Tensor =>
          new Tensor('int64', BigInt64Array.from(values, BigInt), [1, values.length]);
        return session.run({
          input_ids: int64(ids),
          attention_mask: int64(ids.map(() => 1)),
          token_type_ids: int64(ids.map(() => 0)),
        });
      };
    }
  }
}

/** Decode → centre crop → bicubic → (value − 127) / 128, channel first. */
async function referencePixels(jpeg: Buffer, side: number, cropRatio: number): Promise<Float32Array> {
  const { data, info } = await sharp(jpeg)
    .rotate()
    .toColourspace('srgb')
    .removeAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  const square = Math.max(1, Math.floor(cropRatio * Math.min(info.width, info.height)));
  const left = Math.floor((info.width - square + 1) / 2);
  const top = Math.floor((info.height - square + 1) / 2);
  const pixels = await sharp(data, { raw: { width: info.width, height: info.height, channels: 3 } })
    .extract({ left, top, width: square, height: square })
    .resize(side, side, { kernel: 'cubic', fit: 'fill' })
    .raw()
    .toBuffer();
  const plane = side * side;
  const floats = new Float32Array(3 * plane);
  for (let index = 0; index < plane; index += 1) {
    for (let channel = 0; channel < 3; channel += 1) {
      floats[channel * plane + index] = ((pixels[index * 3 + channel] as number) - 127) / 128;
    }
  }
  return floats;
}

function topFive(scores: Float32Array): { index: number; score: number }[] {
  return Array.from(scores, (score, index) => ({ index, score }))
    .sort((left, right) => right.score - left.score)
    .slice(0, 5);
}
