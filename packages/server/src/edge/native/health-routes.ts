import type { CatalogueEntry } from '@gimbal/core';
import { defaultVersionOf } from '../front/model-summary.ts';
import { readingRoute } from '../front/simple-answers.ts';
import type { EdgePorts, EdgeRequest, Route } from '../route.ts';

/** Members of `checks`; beyond it only the number of models is told. */
const MAX_CHECKS = 200;

interface Check {
  readonly componentType: 'model' | 'server';
  readonly status: 'pass' | 'warn' | 'fail';
  readonly output?: string;
}

/**
 * Live: the event loop turns, so this answers; what models do is no reason to restart the host. Ready: every required
 * model is ready and the server is not draining. Started: it has been ready once, whatever has become of it since.
 */
export function healthRoutes(ports: EdgePorts): Route[] {
  let hasStarted = false;
  const isStarted = (): boolean => {
    hasStarted ||= ports.inference.ready;
    return hasStarted;
  };
  const live = (request: EdgeRequest): void => answerHealth(request, ports, { passes: true, checks: {} });
  const ready = (request: EdgeRequest): void => {
    isStarted();
    answerHealth(request, ports, { passes: ports.inference.ready, checks: checksOf(ports) });
  };
  return [
    readingRoute('/livez', live),
    readingRoute('/readyz', ready),
    readingRoute('/startupz', (request) =>
      answerHealth(request, ports, { passes: isStarted(), checks: checksOf(ports) }),
    ),
    readingRoute('/health', ready),
    readingRoute('/healthz', live),
  ];
}

function answerHealth(
  request: EdgeRequest,
  ports: EdgePorts,
  {
    passes,
    checks,
  }: { readonly passes: boolean; readonly checks: Readonly<Record<string, readonly Check[]>> },
): void {
  const { name, version } = ports.server;
  const body = { status: passes ? 'pass' : 'fail', version, serviceId: name, checks };
  request.reply.send({
    status: passes ? 200 : 503,
    contentType: 'application/health+json',
    body: JSON.stringify(body),
    // A 503 always says when to come back.
    headers: `Cache-Control: no-store\r\n${passes ? '' : 'Retry-After: 1\r\n'}`,
  });
}

/** One check for each model: `warn` when it can't be used but the server is ready without it. */
function checksOf({ inference }: EdgePorts): Record<string, readonly Check[]> {
  const checks: Record<string, readonly Check[]> = {};
  if (inference.draining) {
    checks.draining = [{ componentType: 'server', status: 'fail', output: 'the server is shutting down' }];
  }
  for (const entry of inference.catalogue().slice(0, MAX_CHECKS)) {
    checks[`model:${entry.model}`] = [checkOf(entry, inference.ready)];
  }
  return checks;
}

function checkOf(entry: CatalogueEntry, isServerReady: boolean): Check {
  const version = defaultVersionOf(entry);
  if (version?.state === 'ready') return { componentType: 'model', status: 'pass' };
  const reason = version?.reason ?? entry.failures.at(-1)?.reason;
  const state = version?.state ?? 'unavailable';
  return {
    componentType: 'model',
    status: isServerReady ? 'warn' : 'fail',
    output: reason === undefined ? state : `${state}: ${reason}`,
  };
}
