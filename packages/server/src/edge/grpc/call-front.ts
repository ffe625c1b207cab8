import { type CallContext, GimbalError, type Instant, toGimbalError } from '@gimbal/core';
import {
  type Metadata,
  ServerInterceptingCall,
  type ServerInterceptor,
  ServerListenerBuilder,
} from '@grpc/grpc-js';
import { MAX_TIMEOUT_MS, termsOf } from '../front/call-headers.ts';
import { isRequestId, RequestIds } from '../front/request-id.ts';
import { traceIdOf } from '../front/traceparent.ts';
import type { EdgePorts } from '../route.ts';
import { CallReport } from './call-report.ts';
import { failedStatus } from './failure.ts';
import type { Intake } from './intake.ts';

/** Methods that are recorded; health and reflection are asked by machines all day. */
const RECORDED = '/inference.';

/** The library's timer and our clock differ by the way from the head to here. */
const DEADLINE_SLACK_MS = 5;

/** What the head of a call says. */
export class CallFront {
  readonly route: string;
  readonly requestId: string;
  readonly traceId: string | undefined;
  readonly receivedAt: Instant;
  readonly report: CallReport;
  /** As `readHead` found it. */
  context: CallContext;
  /** Takes messages back from the library until there is room for them; only streams set it. */
  gate: ((letIn: () => void) => void) | undefined;
  readonly #head: Head;
  /** Of `grpc-timeout`, from the arrival of the head. */
  readonly #deadlineMs: number;

  constructor(
    ports: EdgePorts,
    arrival: { route: string; requestId: string; head: Head; deadlineMs: number },
  ) {
    const { route, requestId, head, deadlineMs } = arrival;
    this.route = route;
    this.requestId = requestId;
    this.receivedAt = ports.clock.now();
    this.traceId = traceIdOf(head.header('traceparent'));
    this.report = new CallReport(ports, this);
    this.context = {
      requestId,
      protocol: 'grpc',
      receivedAt: this.receivedAt,
      timeoutMs: undefined,
      criticality: 'default',
      bodyBytes: undefined,
    };
    this.#head = head;
    this.#deadlineMs = deadlineMs;
  }

  /** Reads what may be wrong with the head. Throws MALFORMED_REQUEST or INVALID_INPUT. */
  readHead(): void {
    const { timeoutMs, ...terms } = termsOf(this.#head);
    const smallest = Math.min(timeoutMs ?? Number.POSITIVE_INFINITY, this.#deadlineMs);
    this.context = {
      ...this.context,
      ...terms,
      timeoutMs: smallest <= MAX_TIMEOUT_MS ? smallest : undefined,
    };
  }

  /** How a call that nobody answered has ended: the library itself watches `grpc-timeout`. */
  abandoned(): GimbalError {
    return this.report.totalMs() >= this.#deadlineMs - DEADLINE_SLACK_MS
      ? new GimbalError('DEADLINE_EXCEEDED', 'Cannot answer: the deadline of grpc-timeout passed')
      : new GimbalError('CANCELLED', 'the client went away');
  }
}

type Head = Parameters<typeof termsOf>[0];

/** Finds the front of a call by the metadata that came with it. */
export type Fronts = WeakMap<Metadata, CallFront>;

/**
 * What every call meets first, before its message: its metadata are read, and a call that can't be answered is refused
 * without its message. The model is named in the message, so admission by model comes when that has been read.
 */
export function frontInterceptor(ports: EdgePorts, intake: Intake, fronts: Fronts): ServerInterceptor {
  const requestIds = new RequestIds(ports.clock, ports.random);
  return ({ path, requestStream }, call) => {
    const arrival = intake.take();
    let front: CallFront | undefined;
    const refuse = (error: GimbalError): void => {
      front?.report.failed(error);
      call.sendStatus(failedStatus(error, front?.requestId ?? '', ports.random));
    };
    const listener = new ServerListenerBuilder()
      .withOnReceiveMetadata((metadata, next) => {
        const head = headOf(metadata);
        const given = head.header('x-request-id');
        const requestId = given !== undefined && isRequestId(given) ? given : requestIds.next();
        const deadlineMs = budgetMs(call.getDeadline());
        front = new CallFront(ports, { route: path, requestId, head, deadlineMs });
        if (!path.startsWith(RECORDED)) front.report.dismiss();
        try {
          front.readHead();
        } catch (error) {
          refuse(toGimbalError(error));
          return;
        }
        arrival?.start(refuse);
        fronts.set(metadata, front);
        next(metadata);
      })
      .withOnReceiveMessage((message: Buffer, next) => {
        if (front) front.report.requestBytes += message.length;
        const letIn = (): void => {
          if (requestStream) arrival?.handedOver();
          next(message);
        };
        if (front?.gate) front.gate(letIn);
        else letIn();
      })
      .withOnReceiveHalfClose((next) => {
        next();
        // The one message of a call has been read where it was answered; those of streams were handed over one by one.
        if (!requestStream) arrival?.handedOver();
      })
      .withOnCancel(() => front?.report.failed(front.abandoned()))
      .build();
    return new ServerInterceptingCall(call, { start: (next) => next(listener) });
  };
}

/** What is left of `grpc-timeout`, which the library has already turned into an instant of the wall clock. */
function budgetMs(deadline: Date | number): number {
  return Math.max(0, Number(deadline) - Date.now());
}

/** Metadata under the names that HTTP headers have. */
function headOf(metadata: Metadata): Head {
  const header = (name: string): string | undefined => {
    const values = metadata.get(name);
    return values.length === 0 ? undefined : values.join(', ');
  };
  return { method: 'POST', path: '', query: '', contentLength: undefined, header, headers: () => new Map() };
}
