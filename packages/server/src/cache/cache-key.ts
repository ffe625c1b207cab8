import type { AnswerParameters, Want } from '@gimbal/core';
import { hashContent } from './content-hash.ts';
import { bytesOf, frameOf, type RequestContent } from './request-content.ts';

/** Changes with the format of what is hashed. */
const FORMAT = 'gimbal answer 1';

/** Everything that decides an answer, but for the variant that happens to give it. */
export interface AnswerIdentity extends RequestContent {
  readonly want: Want;
  readonly parameters: AnswerParameters;
}

/**
 * The key of a request's answer: model, version, every input's name, datatype, shape and bytes, and parameters. It does
 * not name the variant, since that is not known before the run: an answer of a lower rung must not be kept under it.
 * Costs one SHA-256 over the input.
 */
export function cacheKey(identity: AnswerIdentity): string {
  const { model, digest, want, parameters } = identity;
  // As text: JSON has one word for NaN and both infinities.
  const frame = [FORMAT, want, String(parameters.topK), String(parameters.threshold), frameOf(identity)];
  return `${cacheScope(model, digest)}${hashContent(frame, bytesOf(identity))}`;
}

/**
 * What the keys of a model start with, or those of one of its versions, for clearing them. The name comes after its
 * length: no model's scope is the beginning of another's.
 */
export function cacheScope(model: string, digest?: string): string {
  const scope = `${model.length}:${model}:`;
  return digest === undefined ? scope : `${scope}${digest}:`;
}
