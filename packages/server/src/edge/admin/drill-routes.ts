import { GimbalError } from '@gimbal/core';
import { answerJson, readingRoute } from '../front/simple-answers.ts';
import type { EdgeRequest, Route } from '../route.ts';

/** A fault is described in a few members. */
const MAX_BODY_BYTES = 16 * 1024;

/** What the drill routes may ask of the host: documents in, documents out. */
export interface DrillPort {
  faults(): object;
  /** Throws PERMISSION_DENIED where drills are off, INVALID_INPUT for what can't be injected. */
  inject(body: unknown): object;
  /** One fault by its number, or all. Throws PERMISSION_DENIED where drills are off. */
  clear(id: string | undefined): object;
}

/**
 * Faults on purpose, for drills. The admin port serves them; where drills are off all but the list are refused, and say
 * what to configure.
 */
export function drillRoutes(port: DrillPort): Route[] {
  return [
    readingRoute('/admin/v1/faults', (request) => answerJson(request, port.faults())),
    changingRoute('/admin/v1/faults', (request) => {
      request.exchange.readBody(
        MAX_BODY_BYTES,
        (bytes) => answer(request, () => port.inject(parsed(bytes))),
        (error) => request.reply.fail(error),
      );
    }),
    changingRoute('/admin/v1/faults/clear', (request) => answer(request, () => port.clear(undefined))),
    changingRoute('/admin/v1/faults/{fault}/clear', (request) =>
      answer(request, () => port.clear(request.parameters.fault)),
    ),
  ];
}

function changingRoute(pattern: string, run: (request: EdgeRequest) => void): Route {
  return { method: 'POST', pattern, protocol: 'native', errors: 'problem', run };
}

function answer(request: EdgeRequest, make: () => object): void {
  try {
    answerJson(request, make());
  } catch (error) {
    request.reply.fail(error);
  }
}

function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw new GimbalError(
      'MALFORMED_REQUEST',
      'Cannot inject a fault: the body is not JSON, expected an object such as {"kind": "kill", "model": "digits"}',
    );
  }
}
