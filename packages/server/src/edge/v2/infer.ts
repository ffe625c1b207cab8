import {
  type Block,
  type Call,
  type CallContext,
  GimbalError,
  type PartOutput,
  type VersionView,
  type WorkDone,
} from '@gimbal/core';
import { ACCEPTED_CODINGS, codingOf, expand } from '../front/content-coding.ts';
import { withTimeout } from '../front/front-request.ts';
import { headerLine } from '../front/header-line.ts';
import type { Answer, EdgePorts, EdgeRequest, Inferred } from '../route.ts';
import { answerCoding, compress } from './answer-coding.ts';
import {
  checkOutputCodings,
  checkOutputs,
  emptyParts,
  type InferAnswer,
  writeAnswer,
} from './infer-answer.ts';
import { type InferHead, malformed, readInferHead } from './infer-head.ts';
import { checkFilled, checkInputs, type PlannedInput, placeInputs, tensorsOf } from './infer-inputs.ts';
import { InferSink } from './infer-sink.ts';
import { rawHead } from './raw-request.ts';

/** Says where the JSON of a body ends; decides alone whether there are binary tensors, never the Content-Type. */
const LENGTH_HEADER = 'inference-header-content-length';
/** The client has left: what still arrives is dropped. */
const GONE: Block = { span: { offset: 0, byteLength: 0 }, bytes: new Uint8Array(0) };
const NO_PARAMETERS = { topK: 0, threshold: 0 };
const NOT_RUN: Omit<Inferred, 'variant'> = {
  rung: 0,
  batchRows: 0,
  timings: { queueMs: 0, batchMs: 0, preprocessMs: 0, inferMs: 0, postprocessMs: 0 },
};

/** Answers one V2 inference request. What is thrown before the call is open is answered by the front. */
export function infer(ports: EdgePorts, request: EdgeRequest, version: VersionView): void {
  new InferRequest(ports, request, version).start();
}

/** From admission to the answer; the call is closed exactly once, whatever happens. */
class InferRequest {
  readonly #ports: EdgePorts;
  readonly #request: EdgeRequest;
  readonly #version: VersionView;
  #context: CallContext;
  #call: Call | undefined;
  #outgrown: Call | undefined;
  #head: InferHead | undefined;
  #inputs: readonly PlannedInput[] = [];
  #rows = 1;

  constructor(ports: EdgePorts, request: EdgeRequest, version: VersionView) {
    this.#ports = ports;
    this.#request = request;
    this.#version = version;
    this.#context = request.context;
  }

  start(): void {
    const { exchange, reply } = this.#request;
    const { head } = exchange;
    const { maxBodyBytes } = this.#ports.limits;
    reply.about(this.#version, 0);
    const coding = this.#codingOf(head.header('content-encoding'));
    if (coding === 'refused') return;
    const { contentLength } = head;
    if (contentLength !== undefined && contentLength > maxBodyBytes) {
      throw new GimbalError(
        'INPUT_TOO_LARGE',
        `Cannot read the body: expected at most ${maxBodyBytes} bytes, got ${contentLength}`,
      );
    }
    const jsonLength = jsonLengthOf(
      head.header(LENGTH_HEADER),
      // Memory is taken for so many bytes: where the body's length is not known, its limit bounds them.
      (coding === undefined ? contentLength : undefined) ?? maxBodyBytes,
    );
    this.#call = this.#ports.inference.open(this.#version, this.#context);
    reply.onAbort(this.#close);
    this.#guard(() => {
      if (coding !== undefined) {
        const expansion = {
          coding,
          limitBytes: maxBodyBytes,
          onBody: (body: Uint8Array) => this.#take(body, jsonLength),
          onFail: this.#fail,
        };
        exchange.readBody(maxBodyBytes, (body) => expand(body, expansion), this.#fail);
      } else if (jsonLength !== undefined && jsonLength > 0) {
        exchange.streamBody(maxBodyBytes, this.#sink(jsonLength));
      } else {
        exchange.readBody(maxBodyBytes, (body) => this.#take(body, jsonLength), this.#fail);
      }
    });
  }

  /** An unknown coding is refused here and not by a throw, since the refusal has a header of its own. */
  #codingOf(header: string | undefined): ReturnType<typeof codingOf> | 'refused' {
    try {
      return codingOf(header);
    } catch {
      const error = new GimbalError(
        'UNSUPPORTED',
        `Cannot read the body: expected Content-Encoding gzip or deflate, got ${JSON.stringify(header)}`,
      );
      this.#request.reply.fail(error, { headers: ACCEPTED_CODINGS });
      return 'refused';
    }
  }

  /** A whole body. */
  #take(body: Uint8Array, jsonLength: number | undefined): void {
    if (!this.#call) return;
    this.#guard(() => {
      if (jsonLength === 0) this.#takeRaw(body);
      else if (jsonLength === undefined) {
        if (this.#prepare(body).some((input) => input.block.bytes.length > 0)) {
          throw malformed(`inputs are said to be binary, expected the header ${LENGTH_HEADER}`);
        }
        this.#submit();
      } else {
        const sink = this.#sink(jsonLength);
        sink.chunk(body);
        sink.end();
      }
    });
  }

  #sink(jsonLength: number): InferSink {
    return new InferSink(jsonLength, {
      hold: (byteLength) => (this.#call ? this.#call.reserve(byteLength) : GONE),
      onHead: (json) => (this.#call ? this.#prepare(json) : []),
      onComplete: () => this.#submit(),
      onFail: this.#fail,
    });
  }

  /** Checks the JSON against the model and takes memory; returns the inputs whose bytes are to follow. */
  #prepare(json: Uint8Array): readonly PlannedInput[] {
    const { maxJsonDepth } = this.#ports.limits;
    const head = readInferHead(json, maxJsonDepth);
    this.#accept(head);
    const call = this.#call as Call;
    this.#inputs = placeInputs(json, head, this.#version.spec.signature, { call, maxDepth: maxJsonDepth });
    this.#closeOutgrown();
    return this.#inputs.filter(({ head: input }) => input.source.kind === 'binary');
  }

  /** The whole body is the one input. */
  #takeRaw(body: Uint8Array): void {
    const { head, bytes } = rawHead(body, this.#version.spec);
    this.#accept(head);
    const block = (this.#call as Call).reserve(bytes.length);
    block.bytes.set(bytes);
    this.#closeOutgrown();
    const input = head.inputs[0];
    if (input) this.#inputs = [{ head: input, index: 0, block }];
    this.#submit();
  }

  #accept(head: InferHead): void {
    const { spec } = this.#version;
    checkOutputs(head, spec);
    checkOutputCodings(head, spec);
    this.#rows = checkInputs(head, spec.signature);
    this.#head = head;
    this.#request.reply.about(this.#version, this.#rows);
    if (head.timeoutMicros === undefined) return;
    const context = withTimeout(this.#context, head.timeoutMicros / 1000);
    if (context === this.#context) return;
    // The body brought a smaller budget than the head: admission is asked again with it.
    this.#context = context;
    this.#outgrown = this.#call;
    this.#call = this.#ports.inference.open(this.#version, context);
  }

  /** The call with the larger budget: the JSON may lie in its memory until it has been read. */
  #closeOutgrown(): void {
    const call = this.#outgrown;
    this.#outgrown = undefined;
    call?.close();
  }

  #submit(): void {
    const call = this.#call;
    const head = this.#head;
    if (!call || !head) return;
    for (const input of this.#inputs) checkFilled(input);
    if (this.#rows === 0) {
      this.#answer(emptyParts(head, this.#version.spec), {
        ...NOT_RUN,
        variant: this.#version.spec.variants[0]?.name ?? '',
      });
      return;
    }
    call.submit(
      {
        input: { kind: 'tensors', tensors: tensorsOf(this.#inputs) },
        rows: this.#rows,
        want: 'tensors',
        parameters: NO_PARAMETERS,
      },
      (result) => {
        if (result.ok) this.#guard(() => this.#answer(result.parts, result));
        else this.#fail(result.error);
      },
    );
  }

  #answer(parts: readonly PartOutput[], how: Inferred | WorkDone): void {
    const answer = writeAnswer(this.#head as InferHead, this.#version.spec, parts);
    const coding = answerCoding(this.#request.exchange.head.header('accept-encoding'));
    const pieces = [answer.json, ...answer.binaries];
    if (coding === 'identity') {
      this.#send({ ...described(answer), body: pieces.length === 1 ? answer.json : pieces }, how);
      return;
    }
    compress(coding, pieces, (error, body) => {
      if (error) this.#fail(error);
      else this.#send({ ...described(answer, coding), body }, how);
    });
  }

  #send(answer: Omit<Answer, 'status' | 'onFlushed'>, how: Inferred): void {
    this.#request.reply.inferred({ status: 200, ...answer, onFlushed: this.#close }, how);
  }

  readonly #close = (): void => {
    const call = this.#call;
    this.#call = undefined;
    call?.close();
    if (this.#outgrown !== call) this.#closeOutgrown();
    this.#outgrown = undefined;
  };

  readonly #fail = (error: unknown): void => {
    this.#close();
    this.#request.reply.fail(error);
  };

  #guard(action: () => void): void {
    try {
      action();
    } catch (error) {
      this.#fail(error);
    }
  }
}

/** With the length header only where binary outputs follow: clients take an answer without it for JSON alone. */
function described(
  { json, binaries }: InferAnswer,
  coding?: string,
): { contentType: string; headers: string } {
  const coded = coding === undefined ? '' : headerLine('Content-Encoding', coding);
  if (binaries.length === 0) return { contentType: 'application/json', headers: coded };
  return {
    contentType: 'application/octet-stream',
    headers: `${headerLine('Inference-Header-Content-Length', String(json.length))}${coded}`,
  };
}

/** Undefined without the header: the body is JSON alone. */
function jsonLengthOf(header: string | undefined, mostBytes: number): number | undefined {
  if (header === undefined) return undefined;
  const length = /^\d{1,15}$/.test(header.trim()) ? Number(header) : Number.NaN;
  if (Number.isNaN(length) || length > mostBytes) {
    throw malformed(
      `the header Inference-Header-Content-Length is "${header.slice(0, 64)}", expected a number of bytes of at most ${mostBytes}, the body's length`,
    );
  }
  return length;
}
