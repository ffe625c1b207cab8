import type { AdminPort } from './admin/admin-port.ts';
import { metricsRoutes } from './admin/metrics-routes.ts';
import { compatRoutes } from './compat/compat-routes.ts';
import { nativeRoutes } from './native/native-routes.ts';
import type { EdgePorts, Route } from './route.ts';

/** Everything that the public port answers. */
export function publicRoutes(ports: EdgePorts, admin: AdminPort): Route[] {
  return [...nativeRoutes(ports), ...compatRoutes(ports), ...metricsRoutes(admin)];
}
