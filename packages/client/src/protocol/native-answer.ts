import type { OpenAnswer } from '../call/call-request.ts';
import { errorOfDocument } from '../error-document.ts';
import { AnswerError, type GimbalError } from '../errors.ts';
import type { AnswerHead } from '../schema.ts';
import { headOfHeaders, timingsFrom } from './answer-head.ts';
import { camelCased, isDocument, type JsonDocument, readDocument } from './json-document.ts';

export type ItemAnswer =
  | (JsonDocument & { readonly ok: true })
  | { readonly ok: false; readonly error: GimbalError };

/** An answer of the native API for one input: the head, and the members that its task has. */
export function readNativeAnswer(body: Uint8Array, { response }: OpenAnswer): AnswerHead & JsonDocument {
  const { head, members } = partsOf(body, response.headers);
  return { ...resultOf(members), ...head };
}

/** An answer for several inputs: each stands alone. */
export function readNativeList(
  body: Uint8Array,
  { response, attempts }: OpenAnswer,
): AnswerHead & { readonly results: readonly ItemAnswer[] } {
  const { head, members } = partsOf(body, response.headers);
  const { results } = members;
  if (!Array.isArray(results)) {
    throw new AnswerError('Cannot read the answer: expected a member "results", got none', {
      code: 'BAD_ANSWER',
    });
  }
  const { requestId } = head;
  return {
    ...head,
    results: results.map((result: unknown): ItemAnswer => {
      const document = isDocument(result) ? result : {};
      if (isDocument(document.error)) {
        return { ok: false, error: errorOfDocument(document.error, { requestId, attempts }) };
      }
      return { ...resultOf(document), ok: true };
    }),
  };
}

/** The document says what the headers say; where both do, the document counts: pages always see it. */
function partsOf(body: Uint8Array, headers: Headers): { head: AnswerHead; members: JsonDocument } {
  const { model, version, variant, degraded, request_id, timings_ms, ...members } = readDocument(body);
  const told = headOfHeaders(headers);
  const head: AnswerHead = {
    ...told,
    ...(typeof model === 'string' ? { model } : {}),
    ...(typeof version === 'string' ? { version } : {}),
    ...(typeof variant === 'string' ? { variant } : {}),
    ...(typeof degraded === 'boolean' ? { degraded } : {}),
    ...(typeof request_id === 'string' ? { requestId: request_id } : {}),
    ...(isDocument(timings_ms) ? { timings: timingsFrom((stage) => timings_ms[stage]) } : {}),
  };
  return { head, members };
}

/** Names inside `predictions` are the server's; those of outputs are the model's and stay as they are. */
function resultOf(members: JsonDocument): JsonDocument {
  return 'predictions' in members ? { ...members, predictions: camelCased(members.predictions) } : members;
}
