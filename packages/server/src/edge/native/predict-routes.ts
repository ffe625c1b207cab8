import { GimbalError } from '@gimbal/core';
import { quoted } from '../front/call-headers.ts';
import type { EdgePorts, EdgeRequest, Route } from '../route.ts';
import { NATIVE_FORM } from './json-body.ts';
import { predict } from './predict.ts';
import { NATIVE_WRITER } from './prediction.ts';

/** `POST …/predict` of a model and of one of its versions. */
export function predictRoutes(ports: EdgePorts): Route[] {
  const run = (request: EdgeRequest): void => {
    const { model = '', version } = request.parameters;
    const asked = version ?? request.exchange.head.header('inference-version');
    predict(ports, request, {
      version: ports.inference.resolve(model, asked),
      form: NATIVE_FORM,
      writer: NATIVE_WRITER,
    });
  };
  return [
    predictRoute('/v1/models/{model}/predict', run),
    predictRoute('/v1/models/{model}/versions/{version}/predict', run),
    predictRoute('/v1/models/{model}/labels/{label}/predict', refuseLabel),
  ];
}

function predictRoute(pattern: string, run: (request: EdgeRequest) => void): Route {
  return { method: 'POST', pattern, protocol: 'native', errors: 'problem', run };
}

/** Labels name versions by purpose; they come with roll-outs. Until then the path says so instead of "not found". */
function refuseLabel({ parameters }: EdgeRequest): void {
  throw new GimbalError(
    'UNSUPPORTED',
    `Cannot choose a version by label ${quoted(parameters.label ?? '')}: labels are not served yet, use /v1/models/{model}/versions/{version}/predict`,
  );
}
