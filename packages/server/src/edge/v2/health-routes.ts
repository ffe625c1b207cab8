import { GimbalError } from '@gimbal/core';
import { contentTypeOf, errorDocument, retryAfterOf, statusOf } from '../front/errors.ts';
import { answerJson } from '../front/simple-answers.ts';
import type { EdgePorts, EdgeRequest } from '../route.ts';
import { type V2Route, v2Route, v2Routes } from './v2-route.ts';

/** One body for both kinds of clients: some look at the status only, others at `live` or `ready`. */
export function healthRoutes(ports: EdgePorts): V2Route[] {
  const { inference } = ports;
  const modelReady = (request: EdgeRequest): void => {
    const { model = '', version } = request.parameters;
    if (inference.find(model, version).state === 'ready') answerJson(request, { name: model, ready: true });
    else answerNo(request, ports, new GimbalError('MODEL_UNAVAILABLE', notReady(model), RETRY));
  };
  return [
    v2Route('GET', '/v2/health/live', (request) => answerJson(request, { live: true })),
    v2Route('GET', '/v2/health/ready', (request) => {
      const { ready, draining } = inference;
      if (ready) answerJson(request, { live: true, ready: true });
      else if (draining) answerNo(request, ports, new GimbalError('DRAINING', SHUTTING_DOWN, RETRY));
      else answerNo(request, ports, new GimbalError('MODEL_LOADING', NOT_YET, RETRY));
    }),
    ...v2Routes('GET', '/v2/models/{model}', [['/ready', modelReady]]),
  ];
}

const RETRY = { retryAfterMs: 1000 };
const SHUTTING_DOWN = 'Cannot take work: the server is shutting down';
const NOT_YET = 'Cannot take work yet: required models are not ready';

function notReady(model: string): string {
  return `Cannot use "${model}": it is not ready`;
}

/**
 * "Not ready" in the protocol's form of an error. The probe itself went well: it is no request that was shed or failed,
 * neither in the log, where it would be a warning each second while models load, nor in the counts of outcomes.
 */
function answerNo(request: EdgeRequest, { random }: EdgePorts, error: GimbalError): void {
  const retryAfter = retryAfterOf(error, random);
  request.reply.send({
    status: statusOf(error.code, 'v2'),
    contentType: contentTypeOf('v2'),
    body: errorDocument(error, 'v2', {
      requestId: request.requestId,
      instance: request.exchange.head.path,
      retryAfter,
      members: '',
    }),
    headers: `Cache-Control: no-store\r\n${retryAfter ? `Retry-After: ${retryAfter.seconds}\r\n` : ''}`,
  });
}
