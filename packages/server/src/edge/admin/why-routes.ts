import { type CallRecord, type DecisionRecord, GimbalError } from '@gimbal/core';
import { answerJson, readingRoute } from '../front/simple-answers.ts';
import type { Route } from '../route.ts';

const DEFAULT_SINCE_MS = 300_000;
const MAX_SINCE_MS = 86_400_000;

/** What the routes may ask of what was decided lately. */
export interface WhyPort {
  find(
    requestId: string,
  ): { readonly call: CallRecord | undefined; readonly decisions: readonly DecisionRecord[] } | undefined;
  recent(of: { readonly sinceMs: number; readonly model: string | undefined }): readonly object[];
  /** Milliseconds that single requests are remembered at the moment. */
  readonly rememberedMs: number;
}

/** Why a request got what it got, and what did not go well lately. */
export function whyRoutes(port: WhyPort): Route[] {
  return [
    readingRoute('/admin/v1/why/{request}', (request) => {
      const id = request.parameters.request ?? '';
      const story = port.find(id);
      if (!story) {
        throw new GimbalError(
          'ROUTE_NOT_FOUND',
          `Cannot tell of request ${JSON.stringify(id.slice(0, 128))}: it is not remembered, expected the X-Request-Id of an answer of the last ${Math.round(port.rememberedMs / 1000)} s; refusals and failures are remembered longer`,
        );
      }
      answerJson(request, { request_id: id, call: story.call ?? null, decisions: story.decisions });
    }),
    readingRoute('/admin/v1/why', (request) => {
      const written = request.query.get('since_ms');
      const sinceMs = written === undefined ? DEFAULT_SINCE_MS : Number(written);
      if (!(sinceMs > 0 && sinceMs <= MAX_SINCE_MS)) {
        const expected = `milliseconds up to ${MAX_SINCE_MS}`;
        const received = JSON.stringify(written?.slice(0, 64));
        throw new GimbalError('INVALID_INPUT', `Cannot use since_ms: expected ${expected}, got ${received}`, {
          fields: [{ pointer: 'query:since_ms', expected, received }],
        });
      }
      answerJson(request, {
        since_ms: sinceMs,
        notable: port.recent({ sinceMs, model: request.query.get('model') }),
      });
    }),
  ];
}
