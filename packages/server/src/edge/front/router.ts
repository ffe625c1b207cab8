import { GimbalError, nearestName, toGimbalError } from '@gimbal/core';
import type { Exchange, ExchangeListener } from '../../http1/exchange.ts';
import type { EdgePorts, Route } from '../route.ts';
import { quoted } from './call-headers.ts';
import { FrontRequest } from './front-request.ts';
import { type PathMatch, PathTable } from './path-table.ts';
import { isRequestId, RequestIds } from './request-id.ts';

const NO_PARAMETERS = {};

/** Stand for requests that have no route, so that they are recorded and answered like all others. */
const UNMATCHED_NATIVE = unmatched('native');
const UNMATCHED_V2 = unmatched('v2');

/** Sends each request to its route, and answers those that have none. */
export class Router {
  readonly #ports: EdgePorts;
  readonly #routes: readonly Route[];
  readonly #paths: PathTable;
  readonly #requestIds: RequestIds;

  constructor(routes: readonly Route[], ports: EdgePorts) {
    this.#ports = ports;
    this.#routes = routes;
    this.#paths = new PathTable(routes);
    this.#requestIds = new RequestIds(ports.clock, ports.random);
  }

  /** What the HTTP server calls with every request. */
  readonly listener: ExchangeListener = (exchange) => {
    const { head } = exchange;
    let match: PathMatch | undefined;
    let failure: unknown;
    try {
      match = this.#paths.match(head.path);
    } catch (error) {
      failure = error;
    }
    const route = match && routeFor(match, head.method);
    const request = new FrontRequest(this.#ports, {
      exchange,
      route: route ?? unmatchedFor(head.path),
      parameters: match?.parameters ?? NO_PARAMETERS,
      requestId: this.#requestIdOf(exchange),
    });
    try {
      if (failure !== undefined) throw failure;
      if (!route) {
        this.#answerUnmatched(request, match);
        return;
      }
      request.readHeaders();
      route.run(request);
    } catch (error) {
      request.reply.fail(toGimbalError(error));
    }
  };

  #requestIdOf({ head }: Exchange): string {
    const given = head.header('x-request-id');
    return given !== undefined && isRequestId(given) ? given : this.#requestIds.next();
  }

  #answerUnmatched(request: FrontRequest, match: PathMatch | undefined): void {
    const { method, path } = request.exchange.head;
    if (!match) throw this.#routeNotFound(path);
    const allow = allowOf(match);
    const headers = `Allow: ${allow}\r\n`;
    if (method === 'OPTIONS') {
      request.reply.send({ status: 204, contentType: undefined, body: '', headers });
      return;
    }
    const error = new GimbalError(
      'METHOD_NOT_ALLOWED',
      `Cannot answer ${quoted(method)} here: expected one of ${allow}`,
    );
    request.reply.fail(error, { headers });
  }

  #routeNotFound(path: string): GimbalError {
    const near = nearestName(path, this.#pathsLike(path));
    const hint = near === undefined ? '; what there is: GET /docs' : `; did you mean ${quoted(near)}?`;
    return new GimbalError(
      'ROUTE_NOT_FOUND',
      `Cannot find ${quoted(path)}: there is nothing at this path${hint}`,
    );
  }

  /** Every pattern, its parameters replaced by the path's own segments. */
  *#pathsLike(path: string): Iterable<string> {
    const segments = path.split('/');
    for (const { pattern } of this.#routes) {
      yield pattern
        .split('/')
        .map((segment, index) => (segment.startsWith('{') ? segments[index] || segment : segment))
        .join('/');
    }
  }
}

function routeFor(match: PathMatch, method: string): Route | undefined {
  switch (method) {
    case 'GET':
    case 'HEAD':
      return match.get;
    case 'POST':
      return match.post;
    default:
      return undefined;
  }
}

function allowOf({ get, post }: PathMatch): string {
  return [...(get ? ['GET', 'HEAD'] : []), ...(post ? ['POST'] : []), 'OPTIONS'].join(', ');
}

function unmatchedFor(path: string): Route {
  return path === '/v2' || path.startsWith('/v2/') ? UNMATCHED_V2 : UNMATCHED_NATIVE;
}

function unmatched(protocol: 'native' | 'v2'): Route {
  return {
    method: 'GET',
    pattern: '(unmatched)',
    protocol,
    errors: protocol === 'v2' ? 'v2' : 'problem',
    run(): void {
      throw new GimbalError('ROUTE_NOT_FOUND', 'Cannot find the path: there is nothing at it');
    },
  };
}
