import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { GimbalError, type TextSpec, unreachable, type VariantSpec, type VersionSpec } from '@gimbal/core';
import type { TaskAdapter } from './task.ts';
import { TensorTask } from './tensor-task.ts';

/**
 * The pre- and post-processing that a version declares, for one of its variants. Image and text libraries are loaded
 * only by runners that need them. Fails with MODEL_UNAVAILABLE or UNSUPPORTED when the declaration can't work.
 */
export async function createTaskAdapter(spec: VersionSpec, variant: VariantSpec): Promise<TaskAdapter> {
  switch (spec.task) {
    case 'image-classification': {
      const { ImageClassificationTask } = await import('./image-classification.ts');
      return new ImageClassificationTask(spec, declared(variant.image, 'image'));
    }
    case 'object-detection': {
      const { ObjectDetectionTask } = await import('./object-detection.ts');
      const detection = declared(spec.detection, 'detection');
      return new ObjectDetectionTask(spec, declared(variant.image, 'image'), detection);
    }
    case 'text-embedding': {
      const { TextEmbeddingTask } = await import('./text-embedding.ts');
      const text = declared(spec.text, 'text');
      return new TextEmbeddingTask(spec, text, await readTokenizer(spec, text));
    }
    case 'text-classification': {
      const { TextClassificationTask } = await import('./text-classification.ts');
      const text = declared(spec.text, 'text');
      return new TextClassificationTask(spec, text, await readTokenizer(spec, text));
    }
    case 'tabular':
    case 'tensor':
      return new TensorTask(spec);
    default:
      return unreachable(spec.task);
  }
}

function declared<T>(section: T | undefined, field: string): T {
  if (section !== undefined) return section;
  throw new GimbalError('MODEL_UNAVAILABLE', `Cannot load the model: "${field}" is missing in version.yaml`);
}

async function readTokenizer(spec: VersionSpec, text: TextSpec): Promise<object> {
  try {
    return JSON.parse(await readFile(join(spec.folder, text.tokenizer), 'utf8')) as object;
  } catch (error) {
    throw new GimbalError(
      'MODEL_UNAVAILABLE',
      `Cannot load the model: the tokenizer "${text.tokenizer}" can't be read, expected a tokenizer.json of Hugging Face`,
      { cause: error },
    );
  }
}
