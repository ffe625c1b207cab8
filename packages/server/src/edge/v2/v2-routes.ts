import type { EdgePorts, Route } from '../route.ts';
import { healthRoutes } from './health-routes.ts';
import { inferRoutes } from './infer-routes.ts';
import { metadataRoutes } from './metadata-routes.ts';
import { repositoryRoutes } from './repository-routes.ts';
import { settingsRoutes } from './settings-routes.ts';

/** The whole Open Inference Protocol V2 over REST. */
export function v2ProtocolRoutes(ports: EdgePorts): Route[] {
  return [
    ...healthRoutes(ports),
    ...metadataRoutes(ports),
    ...inferRoutes(ports),
    ...repositoryRoutes(ports),
    ...settingsRoutes(ports),
  ];
}
