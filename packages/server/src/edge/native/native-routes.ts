import type { EdgePorts, Route } from '../route.ts';
import { healthRoutes } from './health-routes.ts';
import { modelsRoutes } from './models-routes.ts';
import { predictRoutes } from './predict-routes.ts';

/** All routes of the native API. */
export function nativeRoutes(ports: EdgePorts): Route[] {
  return [...predictRoutes(ports), ...modelsRoutes(ports), ...healthRoutes(ports)];
}
