import type { AdminPort } from '../edge/admin/admin-port.ts';
import { metricsRoutes } from '../edge/admin/metrics-routes.ts';
import { compatRoutes } from '../edge/compat/compat-routes.ts';
import { nativeRoutes } from '../edge/native/native-routes.ts';
import { openApiRoutes } from '../edge/openapi/openapi-routes.ts';
import { pagesRoutes } from '../edge/pages/pages-routes.ts';
import type { EdgePorts, Route } from '../edge/route.ts';
import { v2ProtocolRoutes } from '../edge/v2/v2-routes.ts';

/** Everything that the public port answers. */
export function publicRoutes(ports: EdgePorts, admin: AdminPort): Route[] {
  return [
    ...nativeRoutes(ports),
    ...v2ProtocolRoutes(ports),
    ...compatRoutes(ports),
    ...openApiRoutes(ports),
    ...pagesRoutes(ports),
    ...metricsRoutes(admin),
  ];
}
