import { fileURLToPath } from 'node:url';
import { type ModelSession, openModelSession } from '../model-session.ts';

const MODELS = fileURLToPath(new URL('../../../../../tests/fixtures/models/', import.meta.url));

/** A session on one of the fixture models, in this process. */
export function openSample(model: string, providers: readonly string[] = ['cpu']): ModelSession {
  return openModelSession({ file: `${MODELS}${model}/1/model.onnx`, threads: 1, providers });
}
