import { GimbalError, type LadderReport, nearestName } from '@gimbal/core';
import { answerJson, readingRoute } from '../front/simple-answers.ts';
import type { EdgeRequest, Route } from '../route.ts';

const MAX_BODY_BYTES = 4 * 1024;
const MAX_PIN_MS = 30 * 86_400_000;

/** What the routes may ask of the ladders that are served. */
export interface LadderPort {
  ladders(): readonly LadderReport[];
  /** All versions of the model; `forMs` undefined: until released. */
  pinLadder(model: string, rung: number, forMs: number | undefined): void;
  releaseLadder(model: string): void;
}

/** Shows the ladders, and lets an operator hold one on a rung. */
export function ladderRoutes(port: LadderPort): Route[] {
  const pattern = '/admin/v1/models/{model}/ladder';
  return [
    readingRoute(pattern, (request) => answerJson(request, { ladders: laddersOf(port, request) })),
    changingRoute(`${pattern}/pin`, (request) => {
      const [ladder] = laddersOf(port, request);
      request.exchange.readBody(
        MAX_BODY_BYTES,
        (bytes) => {
          try {
            const { rung, forMs } = pinOf(bytes, ladder);
            port.pinLadder(ladder.model, rung, forMs);
            answerJson(request, { ladders: laddersOf(port, request) });
          } catch (error) {
            request.reply.fail(error);
          }
        },
        (error) => request.reply.fail(error),
      );
    }),
    changingRoute(`${pattern}/release`, (request) => {
      const [ladder] = laddersOf(port, request);
      port.releaseLadder(ladder.model);
      answerJson(request, { ladders: laddersOf(port, request) });
    }),
  ];
}

function changingRoute(pattern: string, run: (request: EdgeRequest) => void): Route {
  return { method: 'POST', pattern, protocol: 'native', errors: 'problem', run };
}

function laddersOf(port: LadderPort, request: EdgeRequest): readonly [LadderReport, ...LadderReport[]] {
  const model = request.parameters.model ?? '';
  const all = port.ladders();
  const [first, ...others] = all.filter((ladder) => ladder.model === model);
  if (first) return [first, ...others];
  const near = nearestName(
    model,
    all.map((ladder) => ladder.model),
  );
  const hint = near === undefined ? '' : `, did you mean ${JSON.stringify(near)}?`;
  throw new GimbalError(
    'MODEL_NOT_FOUND',
    `Cannot show the ladder of ${JSON.stringify(model)}: there is no such model${hint}`,
  );
}

/** `{"rung": 1}` or `{"variant": "lite2-int8"}`, and `"for_ms"` when it shall end by itself. */
function pinOf(bytes: Uint8Array, { rungs }: LadderReport): { rung: number; forMs: number | undefined } {
  const body = parsed(bytes);
  const names = rungs.map(({ variant }) => variant);
  const rung = body.variant === undefined ? body.rung : names.indexOf(String(body.variant));
  if (typeof rung !== 'number' || !Number.isInteger(rung) || rung < 0 || rung >= rungs.length) {
    const pointer = body.variant === undefined ? '/rung' : '/variant';
    const expected = `a rung from 0 to ${rungs.length - 1}, or a variant of ${names.join(', ')}`;
    throw wrong(pointer, expected, body.variant ?? body.rung);
  }
  const forMs = body.for_ms;
  if (forMs === undefined) return { rung, forMs };
  if (typeof forMs !== 'number' || !(forMs > 0 && forMs <= MAX_PIN_MS)) {
    throw wrong('/for_ms', `milliseconds up to ${MAX_PIN_MS}`, forMs);
  }
  return { rung, forMs };
}

function parsed(bytes: Uint8Array): { rung?: unknown; variant?: unknown; for_ms?: unknown } {
  try {
    const body: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    if (typeof body === 'object' && body !== null) return body;
  } catch {
    // Told below, with what was expected.
  }
  throw new GimbalError(
    'MALFORMED_REQUEST',
    'Cannot pin the ladder: the body is no JSON object, expected one such as {"rung": 1, "for_ms": 600000}',
  );
}

function wrong(pointer: string, expected: string, got: unknown): GimbalError {
  const received = JSON.stringify(got)?.slice(0, 64) ?? 'nothing';
  return new GimbalError('INVALID_INPUT', `Cannot pin the ladder: expected ${expected}, got ${received}`, {
    fields: [{ pointer, expected, received }],
  });
}
