import { GimbalError } from '@gimbal/core';
import type { Fault, FaultTarget } from './fault.ts';
import type { FaultBoard, FaultView } from './fault-board.ts';
import { readFaultRequest } from './fault-request.ts';

/** A fault as it is written in answers; members as in the request. */
export interface FaultDocument {
  readonly id: number;
  readonly kind: Fault['kind'];
  readonly state: FaultView['state'];
  readonly target: FaultTarget;
  /** What the kind says besides: `factor`, `ratio`, … */
  readonly settings: Readonly<Record<string, unknown>>;
  /** RFC 3339. */
  readonly started: string;
  readonly duration_ms: number;
  readonly runners: readonly string[];
}

/** What the admin edge asks of the board, in JSON's terms. */
export interface DrillDesk {
  faults(): { readonly enabled: boolean; readonly faults: readonly FaultDocument[] };
  /** Throws PERMISSION_DENIED, MALFORMED_REQUEST, INVALID_INPUT, MODEL_NOT_FOUND or OVERLOADED. */
  inject(body: unknown): FaultDocument;
  /** One, or all. Throws PERMISSION_DENIED, or INVALID_INPUT for what is no number. Gives how many have ended. */
  clear(id: string | undefined): { readonly cleared: number };
}

export function drillDesk(board: FaultBoard): DrillDesk {
  return {
    faults: () => ({ enabled: board.enabled, faults: board.views.map(documentOf) }),
    inject: (body) => {
      // Whether it may be done at all comes before how.
      if (!board.enabled) board.clear();
      return documentOf(board.inject(readFaultRequest(body)));
    },
    clear: (id) => ({ cleared: board.clear(id === undefined ? undefined : numberOf(id)) }),
  };
}

function documentOf({
  id,
  fault,
  state,
  target,
  startedWallTimeMs,
  durationMs,
  runners,
}: FaultView): FaultDocument {
  const { kind, ...settings } = fault;
  const named = Object.entries(settings).map(([name, value]) => [snakeCase(name), value] as const);
  return {
    id,
    kind,
    state,
    target,
    settings: Object.fromEntries(named),
    started: new Date(startedWallTimeMs).toISOString(),
    duration_ms: durationMs,
    runners,
  };
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function numberOf(id: string): number {
  if (/^\d{1,9}$/.test(id)) return Number(id);
  throw new GimbalError(
    'INVALID_INPUT',
    `Cannot clear the fault: expected its number, got ${JSON.stringify(id)}`,
  );
}
