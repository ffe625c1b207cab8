import { GimbalError, type Task, type VersionView, type WorkDone } from '@gimbal/core';
import { type AnswerBody, type ItemResult, listAnswer, singleAnswer } from '../native/answer-bytes.ts';
import type { JsonForm, MemberParameter } from '../native/json-body.ts';
import { predict } from '../native/predict.ts';
import type { AnswerWriter } from '../native/prediction.ts';
import type { EdgePorts, EdgeRequest, Route } from '../route.ts';
import { withTopPrediction } from './top-prediction.ts';

const THRESHOLD: MemberParameter = {
  name: 'threshold',
  factor: 1,
  max: 1,
  expected: 'a number from 0 to 1',
};
const TOP_K: MemberParameter = {
  name: 'top_k',
  factor: 1,
  max: Number.MAX_SAFE_INTEGER,
  expected: 'a whole number above 0',
};
/** Seconds, as the services that these routes stand in for have it. */
const TIMEOUT: MemberParameter = {
  name: 'timeout_ms',
  factor: 1000,
  max: 10,
  expected: 'a number of seconds above 0, at most 10',
};

const PREDICT_FORM: JsonForm = {
  one: ['image_base64', 'image', 'text', 'input'],
  several: undefined,
  parameters: new Map([
    ['threshold', THRESHOLD],
    ['top_k', TOP_K],
  ]),
};
const BATCH_FORM: JsonForm = {
  one: [],
  several: 'items',
  parameters: new Map([
    ['timeout', TIMEOUT],
    ['threshold', THRESHOLD],
    ['top_k', TOP_K],
  ]),
};
const INFER_FORM: JsonForm = { one: ['text', 'input'], several: undefined, parameters: new Map() };

const IMAGE_TASKS: readonly Task[] = ['image-classification', 'object-detection'];
const TEXT_TASKS: readonly Task[] = ['text-embedding', 'text-classification'];
const ANY_TASK: readonly Task[] = [...IMAGE_TASKS, ...TEXT_TASKS, 'tabular', 'tensor'];

/** The native answer with the members of its best prediction beside it. */
const TOP_WRITER: AnswerWriter = {
  one: (prediction, done) => singleAnswer(prediction.version.spec, withTop(done), prediction.end()),
  several: (prediction, results, how): AnswerBody =>
    listAnswer(prediction.version.spec, { results: results.map(withTopOfItem), how }, prediction.end()),
};

/** Routes that clients of hand-written services know, in front of the same engine. */
export function compatRoutes(ports: EdgePorts): Route[] {
  const route = (pattern: string, tasks: readonly Task[], form: JsonForm): Route => ({
    method: 'POST',
    pattern,
    protocol: 'compat',
    errors: 'problem',
    run: (request: EdgeRequest) =>
      predict(ports, request, { version: defaultModel(ports, tasks), form, writer: TOP_WRITER }),
  });
  return [
    route('/predict', IMAGE_TASKS, PREDICT_FORM),
    route('/batch_predict', IMAGE_TASKS, BATCH_FORM),
    route('/infer', TEXT_TASKS, INFER_FORM),
  ];
}

/** The declared default model, else the first ready one for which the route was made, else the first ready one. */
function defaultModel({ inference, defaultModel }: EdgePorts, tasks: readonly Task[]): VersionView {
  if (defaultModel !== undefined) return inference.resolve(defaultModel, undefined);
  for (const wanted of [tasks, ANY_TASK]) {
    for (const { model, versions } of inference.catalogue()) {
      const ready = versions.findLast(({ state }) => state === 'ready');
      if (ready && wanted.includes(ready.spec.task)) return inference.resolve(model, undefined);
    }
  }
  throw new GimbalError(
    'MODEL_NOT_FOUND',
    `Cannot choose a model: expected a ready one for ${tasks.join(' or ')}, got none; use /v1/models/{model}/predict`,
  );
}

function withTop(done: WorkDone): WorkDone {
  return { ...done, parts: done.parts.map(withTopPrediction) };
}

function withTopOfItem(result: ItemResult): ItemResult {
  return result instanceof Error ? result : withTop(result);
}
