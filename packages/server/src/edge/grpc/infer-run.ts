import {
  type Call,
  type CallContext,
  type GimbalError,
  type PartOutput,
  toGimbalError,
  type VersionSpec,
} from '@gimbal/core';
import { withTimeout } from '../front/front-request.ts';
import type { EdgePorts, Inferred } from '../route.ts';
import { emptyParts } from '../v2/infer-answer.ts';
import type { CallReport } from './call-report.ts';
import { type AnswerHead, inferAnswer, type OutgoingMessage } from './infer-answer.ts';
import { type InferMessage, readInferMessage } from './infer-message.ts';
import { answerOutputs } from './infer-outputs.ts';
import { type InferPlan, placePlan, planInfer, timeoutMicrosOf } from './infer-plan.ts';

const NO_PARAMETERS = { topK: 0, threshold: 0 };
const NOT_RUN: Omit<Inferred, 'variant'> = {
  rung: 0,
  batchRows: 0,
  timings: { queueMs: 0, batchMs: 0, preprocessMs: 0, inferMs: 0, postprocessMs: 0 },
};

/** Where the end of a run goes: exactly one of the two is called, unless the run is closed before. */
export interface RunEnd {
  /** The answer views memory that is the run's: `close` when it has been written. */
  answered(answer: OutgoingMessage, made: RunAnswer): void;
  /** The run is closed already. */
  failed(error: GimbalError): void;
}

export interface RunAnswer {
  readonly spec: VersionSpec;
  readonly how: Inferred;
}

export interface RunOptions {
  readonly context: CallContext;
  readonly report: CallReport;
  /** What `triton_final_response` says in the answer; undefined to leave it out. */
  readonly final: (message: InferMessage) => boolean | undefined;
}

/** One inference request, from its message to its answer; its call is closed exactly once, whatever happens. */
export class InferRun {
  readonly #ports: EdgePorts;
  readonly #options: RunOptions;
  readonly #end: RunEnd;
  #message: InferMessage | undefined;
  #call: Call | undefined;
  #isClosed = false;

  constructor(ports: EdgePorts, options: RunOptions, end: RunEnd) {
    this.#ports = ports;
    this.#options = options;
    this.#end = end;
  }

  /** The request, once it has been read. */
  get message(): InferMessage | undefined {
    return this.#message;
  }

  start(bytes: Buffer): void {
    try {
      this.#start(bytes);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** The answer has been written, or nobody wants it any more. May be called again. */
  close(): void {
    this.#isClosed = true;
    const call = this.#call;
    this.#call = undefined;
    call?.close();
  }

  #start(bytes: Buffer): void {
    const { inference } = this.#ports;
    const { report } = this.#options;
    const message = readInferMessage(bytes);
    this.#message = message;
    const version = inference.resolve(message.model, message.version === '' ? undefined : message.version);
    report.about(version, 0);
    const micros = timeoutMicrosOf(message.parameters);
    const given: CallContext = { ...this.#options.context, bodyBytes: bytes.length };
    const context = micros === undefined ? given : withTimeout(given, micros / 1000);
    // Before anything is looked at: what can't be run in time costs nothing more.
    const call = inference.open(version, context);
    this.#call = call;
    const { spec } = version;
    const plan = planInfer(message, spec);
    report.about(version, plan.rows);
    if (plan.rows === 0) {
      const how = { ...NOT_RUN, variant: spec.variants[0]?.name ?? '' };
      this.#answer(plan, spec, { parts: emptyParts(plan.head, spec), how });
      return;
    }
    call.submit(
      {
        input: { kind: 'tensors', tensors: placePlan(plan, spec.signature, call) },
        rows: plan.rows,
        want: 'tensors',
        parameters: NO_PARAMETERS,
      },
      (result) => {
        if (!result.ok) this.#fail(result.error);
        else this.#answer(plan, spec, { parts: result.parts, how: result });
      },
    );
  }

  #answer(
    plan: InferPlan,
    spec: VersionSpec,
    { parts, how }: { parts: readonly PartOutput[]; how: Inferred },
  ): void {
    let answer: OutgoingMessage;
    try {
      answer = inferAnswer(this.headOf(spec), answerOutputs(plan.head, spec, parts));
    } catch (error) {
      this.#fail(error);
      return;
    }
    this.#end.answered(answer, { spec, how });
  }

  /** Names of an answer to this request. */
  headOf(spec: Pick<VersionSpec, 'model' | 'version'> | undefined): AnswerHead {
    const message = this.#message;
    return {
      model: spec?.model ?? message?.model ?? '',
      version: spec?.version ?? message?.version ?? '',
      id: message?.id ?? '',
      final: message && this.#options.final(message),
    };
  }

  #fail(thrown: unknown): void {
    if (this.#isClosed) return;
    this.close();
    this.#end.failed(toGimbalError(thrown));
  }
}
