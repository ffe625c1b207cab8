import { cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JobSources } from './jobs.ts';

/** The served folder: digits, minilm, and the image model alone under its own name, one variant, no ladder. */
export function layModels(imageModelFile: string, models: string, scratch: string): JobSources {
  const name = 'image';
  mkdirSync(join(models, name, '1'), { recursive: true });
  for (const example of ['digits', 'minilm'])
    cpSync(join('examples/models', example), join(models, example), { recursive: true });
  cpSync(imageModelFile, join(models, name, '1', 'model.onnx'));
  cpSync('examples/models/efficientnet/1/labels.txt', join(models, name, '1', 'labels.txt'));
  writeFileSync(
    join(models, name, '1', 'version.yaml'),
    [
      'task: image-classification',
      'labels: labels.txt',
      'image: { size: [224, 224], crop: centre, cropRatio: 0.875, resize: bicubic, colour: rgb, layout: nchw, mean: [127, 127, 127], std: [128, 128, 128] }',
      'classification: { activation: softmax, topK: 5 }',
      'deadline: 60s',
      '',
    ].join('\n'),
  );
  const photos =
    ['tests/fixtures/samples/images', 'examples/inputs'].find((folder) => existsSync(folder)) ?? '.';
  return {
    imageModelFile,
    imageModelName: name,
    examples: 'examples/models',
    photos,
    scratch: join(scratch, 'bodies'),
  };
}
