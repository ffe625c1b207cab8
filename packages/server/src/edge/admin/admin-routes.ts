import { GimbalError, type InferencePort, nearestName } from '@gimbal/core';
import { answerJson, readingRoute } from '../front/simple-answers.ts';
import type { EdgeRequest, Route } from '../route.ts';
import type { AdminPort } from './admin-port.ts';
import { deviceRoutes } from './device-routes.ts';
import { ladderRoutes } from './ladder-routes.ts';
import { metricsRoutes } from './metrics-routes.ts';
import { modelReport, runnerReport } from './model-report.ts';
import { quarantineRoutes } from './quarantine-routes.ts';
import { whyRoutes } from './why-routes.ts';

export interface AdminEdge {
  readonly port: AdminPort;
  readonly inference: InferencePort;
}

/** All routes of the admin port. It listens on loopback unless told otherwise: there is no identity check yet. */
export function adminRoutes(edge: AdminEdge): Route[] {
  const { port, inference } = edge;
  return [
    ...metricsRoutes(port),
    ...deviceRoutes(port),
    ...ladderRoutes(port),
    ...quarantineRoutes(port),
    ...whyRoutes(port.why),
    ...healthRoutes(edge),
    readingRoute('/admin/v1/runners', (request) =>
      answerJson(request, { runners: port.runners().map(runnerReport) }),
    ),
    readingRoute('/admin/v1/models', (request) =>
      answerJson(request, { models: inference.catalogue().map((entry) => modelReport(entry, port)) }),
    ),
    readingRoute('/admin/v1/models/{model}', (request) => {
      answerJson(request, modelReport(knownModel(inference, nameIn(request)), port));
    }),
    readingRoute('/admin/v1/config', (request) => answerJson(request, port.configuration())),
    changing(edge, 'load', (model) => inference.load(model)),
    changing(edge, 'unload', (model) => inference.unload(model)),
    changing(edge, 'reload', (model) => port.reload(model)),
  ];
}

/** Live: the loop turns, so this answers. Ready: as the main port says. */
function healthRoutes({ inference }: AdminEdge): Route[] {
  return [
    readingRoute('/livez', (request) => answerJson(request, { status: 'pass' })),
    readingRoute('/readyz', (request) => {
      const { ready } = inference;
      answerJson(request, { status: ready ? 'pass' : 'fail' }, ready ? 200 : 503);
    }),
  ];
}

/** `POST /admin/v1/models/{model}/<verb>`: answers when the change is complete, with the model as it then is. */
function changing(
  { inference, port }: AdminEdge,
  verb: string,
  change: (model: string) => Promise<void>,
): Route {
  return {
    method: 'POST',
    pattern: `/admin/v1/models/{model}/${verb}`,
    protocol: 'native',
    errors: 'problem',
    run(request: EdgeRequest): void {
      const model = nameIn(request);
      change(model)
        .then(() => {
          const entry = inference.catalogue().find((candidate) => candidate.model === model);
          answerJson(request, entry ? modelReport(entry, port) : { name: model, versions: [], failures: [] });
        })
        .catch((error: unknown) => request.reply.fail(error));
    },
  };
}

function nameIn(request: EdgeRequest): string {
  return request.parameters.model ?? '';
}

function knownModel(inference: InferencePort, model: string) {
  const catalogue = inference.catalogue();
  const entry = catalogue.find((candidate) => candidate.model === model);
  if (entry) return entry;
  const names = catalogue.map((candidate) => candidate.model);
  const near = nearestName(model, names);
  const hint = near === undefined ? '' : `, did you mean ${JSON.stringify(near)}?`;
  throw new GimbalError(
    'MODEL_NOT_FOUND',
    `Cannot show model ${JSON.stringify(model)}: there is no such model${hint}`,
  );
}
