import { readingRoute } from '../front/simple-answers.ts';
import type { Route } from '../route.ts';
import type { AdminPort, MetricsFormat } from './admin-port.ts';
import { gpuUtilizationRoute } from './device-routes.ts';

const CONTENT_TYPES: Readonly<Record<MetricsFormat, string>> = {
  prometheus: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
};

/** `/metrics` and `/metrics/gpu-util`; the admin port serves them, and the main port may. */
export function metricsRoutes(port: AdminPort): Route[] {
  return [
    readingRoute('/metrics', (request) => {
      const format = wantedFormat(request.exchange.head.header('accept'));
      port.metrics(format).then(
        (body) => request.reply.send({ status: 200, contentType: CONTENT_TYPES[format], body }),
        (error: unknown) => request.reply.fail(error),
      );
    }),
    gpuUtilizationRoute(port),
  ];
}

/**
 * OpenMetrics only when the scraper names it and does not rank it below plain text (RFC 9110, section 12.5.1).
 * Prometheus names it first; browsers and curl get the plain format.
 */
export function wantedFormat(accept: string | undefined): MetricsFormat {
  let openmetrics = 0;
  let plain = 0;
  for (const range of (accept ?? '').split(',')) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    const quality = qualityOf(parameters);
    if (type === 'application/openmetrics-text') openmetrics = Math.max(openmetrics, quality);
    if (type === 'text/plain') plain = Math.max(plain, quality);
  }
  return openmetrics > 0 && openmetrics >= plain ? 'openmetrics' : 'prometheus';
}

function qualityOf(parameters: readonly string[]): number {
  const text = parameters.find((parameter) => parameter.startsWith('q='));
  const quality = text === undefined ? 1 : Number(text.slice(2));
  return quality >= 0 && quality <= 1 ? quality : 0;
}
