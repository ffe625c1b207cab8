import type { CallRecord, GimbalError, Instant, Outcome, VersionView } from '@gimbal/core';
import { statusOf } from '../front/errors.ts';
import type { EdgePorts, Inferred } from '../route.ts';

const OK_STATUS = 200;
/** Longest text of an unexpected error's stack in the log. */
const MAX_CAUSE_LENGTH = 2_000;

/** What a report starts from. */
export interface ReportedCall {
  /** `/inference.GRPCInferenceService/ModelInfer`. */
  readonly route: string;
  readonly requestId: string;
  readonly traceId: string | undefined;
  readonly receivedAt: Instant;
}

/** Reports one call to the observer, exactly once: whatever ends it first counts. */
export class CallReport {
  readonly #ports: EdgePorts;
  readonly #call: ReportedCall;
  #version: VersionView | undefined;
  #rows = 0;
  #isFinished = false;
  requestBytes = 0;

  constructor(ports: EdgePorts, call: ReportedCall) {
    this.#ports = ports;
    this.#call = call;
  }

  get finished(): boolean {
    return this.#isFinished;
  }

  /** Whole time so far in ms. */
  totalMs(): number {
    return this.#ports.clock.now() - this.#call.receivedAt;
  }

  about(version: VersionView, rows: number): void {
    this.#version = version;
    this.#rows = rows;
  }

  ok(responseBytes: number, how?: Inferred): void {
    const outcome = how !== undefined && how.rung > 0 ? 'degraded' : 'ok';
    this.#finish({ status: OK_STATUS, outcome, responseBytes, how });
  }

  failed(error: GimbalError): void {
    this.#finish({
      status: statusOf(error.code, 'problem'),
      outcome: error.row.outcome,
      responseBytes: 0,
      error,
    });
  }

  /** Nothing is to be reported. */
  dismiss(): void {
    this.#isFinished = true;
  }

  #finish({ status, outcome, responseBytes, how, error }: CallEnd): void {
    if (this.#isFinished) return;
    this.#isFinished = true;
    const spec = this.#version?.spec;
    const timings = how?.timings;
    const record: CallRecord = {
      requestId: this.#call.requestId,
      protocol: 'grpc',
      method: 'POST',
      route: this.#call.route,
      // As HTTP would have it: one scale for all protocols' logs and dashboards.
      status,
      outcome,
      code: error?.code,
      detail: error && detailOf(error),
      model: spec?.model,
      version: spec?.version,
      variant: how?.variant,
      rung: how?.rung,
      rows: this.#rows,
      batchRows: how?.batchRows,
      queueMs: timings?.queueMs,
      batchMs: timings?.batchMs,
      preprocessMs: timings?.preprocessMs,
      inferMs: timings?.inferMs,
      postprocessMs: timings?.postprocessMs,
      totalMs: this.totalMs(),
      traceId: this.#call.traceId,
      requestBytes: this.requestBytes,
      responseBytes,
    };
    this.#ports.observer.finished(record);
  }
}

/** What a call came to. */
interface CallEnd {
  readonly status: number;
  readonly outcome: Outcome;
  readonly responseBytes: number;
  readonly how?: Inferred | undefined;
  readonly error?: GimbalError;
}

/** For the log only: an unexpected error's own text goes there and nowhere else. */
function detailOf(error: GimbalError): string {
  if (error.code !== 'INTERNAL' || error.cause === undefined) return error.message;
  const cause =
    error.cause instanceof Error ? (error.cause.stack ?? error.cause.message) : String(error.cause);
  return `${error.message}: ${cause.slice(0, MAX_CAUSE_LENGTH)}`;
}
