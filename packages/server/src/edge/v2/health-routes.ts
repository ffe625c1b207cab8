import { GimbalError } from '@gimbal/core';
import { answerJson } from '../front/simple-answers.ts';
import type { EdgePorts, EdgeRequest } from '../route.ts';
import { type V2Route, v2Route, v2Routes } from './v2-route.ts';

/** One body for both kinds of clients: some look at the status only, others at `live` or `ready`. */
export function healthRoutes({ inference }: EdgePorts): V2Route[] {
  const modelReady = (request: EdgeRequest): void => {
    const { model = '', version } = request.parameters;
    const ready = inference.find(model, version).state === 'ready';
    if (!ready)
      throw new GimbalError('MODEL_UNAVAILABLE', `Cannot use "${model}": it is not ready`, {
        retryAfterMs: 1000,
      });
    answerJson(request, { name: model, ready: true });
  };
  return [
    v2Route('GET', '/v2/health/live', (request) => answerJson(request, { live: true })),
    v2Route('GET', '/v2/health/ready', (request) => {
      const { ready, draining } = inference;
      if (ready) answerJson(request, { live: true, ready: true });
      else if (draining)
        throw new GimbalError('DRAINING', 'Cannot take work: the server is shutting down', {
          retryAfterMs: 1000,
        });
      else
        throw new GimbalError('MODEL_LOADING', 'Cannot take work yet: required models are not ready', {
          retryAfterMs: 1000,
        });
    }),
    ...v2Routes('GET', '/v2/models/{model}', [['/ready', modelReady]]),
  ];
}
