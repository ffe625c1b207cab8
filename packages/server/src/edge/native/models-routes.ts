import { type CatalogueEntry, GimbalError, nearestName } from '@gimbal/core';
import { quoted } from '../front/call-headers.ts';
import { examplesOf } from '../front/model-example.ts';
import { defaultVersionOf, detailModel, summariseModel } from '../front/model-summary.ts';
import { answerJson, readingRoute } from '../front/simple-answers.ts';
import type { EdgePorts, EdgeRequest, Route } from '../route.ts';

/** `GET /v1/models` and `GET /v1/models/{model}`. */
export function modelsRoutes(ports: EdgePorts): Route[] {
  return [
    readingRoute('/v1/models', (request) =>
      answerJson(request, { models: ports.inference.catalogue().map(summariseModel) }),
    ),
    readingRoute('/v1/models/{model}', (request) => describeModel(ports, request)),
  ];
}

function describeModel(ports: EdgePorts, request: EdgeRequest): void {
  const entry = catalogueEntry(ports, request.parameters.model ?? '');
  const version = defaultVersionOf(entry);
  const url = `${originOf(request)}/v1/models/${encodeURIComponent(entry.model)}/predict`;
  const examples = version ? examplesOf(version.spec) : [];
  answerJson(request, {
    ...detailModel(entry, ports.limits),
    examples: examples.map(({ title, contentType, curlArguments }) => ({
      title,
      content_type: contentType,
      curl: `curl ${url} ${curlArguments}`,
    })),
  });
}

/** The model's entry, also while nothing of it is loaded. Throws MODEL_NOT_FOUND with the nearest name. */
function catalogueEntry({ inference }: EdgePorts, model: string): CatalogueEntry {
  const catalogue = inference.catalogue();
  const entry = catalogue.find((candidate) => candidate.model === model);
  if (entry) return entry;
  const near = nearestName(
    model,
    catalogue.map((candidate) => candidate.model),
  );
  const hint = near === undefined ? 'GET /v1/models lists them' : `did you mean ${quoted(near)}?`;
  throw new GimbalError(
    'MODEL_NOT_FOUND',
    `Cannot find model ${quoted(model)}: there is none of that name; ${hint}`,
  );
}

/** Where the client reached this server, as it says itself; only used in examples that are shown to it. */
function originOf({ exchange }: EdgeRequest): string {
  const host = exchange.head.header('host') ?? 'localhost:8000';
  return `http://${isHost(host) ? host : 'localhost:8000'}`;
}

/** Nothing that a shell or a page would take for more than a name and a port. */
function isHost(host: string): boolean {
  return host.length <= 255 && /^[A-Za-z0-9._:[\]-]+$/.test(host);
}
