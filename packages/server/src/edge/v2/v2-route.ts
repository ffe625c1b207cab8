import { GimbalError } from '@gimbal/core';
import type { EdgeRequest, Route } from '../route.ts';

export type V2Route = Route;

export function v2Route(
  method: Route['method'],
  pattern: string,
  run: (request: EdgeRequest) => void,
): V2Route {
  return { method, pattern, protocol: 'v2', errors: 'v2', run };
}

/** Paths of a model: each also with a version. */
export function v2Routes(
  method: Route['method'],
  base: string,
  routes: readonly (readonly [string, (request: EdgeRequest) => void])[],
): V2Route[] {
  return routes.flatMap(([path, run]) => [
    v2Route(method, `${base}${path}`, run),
    v2Route(method, `${base}/versions/{version}${path}`, run),
  ]);
}

/** A part of the protocol that is not there, said so. */
export function unsupported(what: string): (request: EdgeRequest) => void {
  return () => {
    throw new GimbalError('UNSUPPORTED', `Cannot ${what}`);
  };
}
