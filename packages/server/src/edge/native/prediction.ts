import {
  type AnswerParameters,
  type Call,
  type CallContext,
  type GimbalError,
  toGimbalError,
  type VersionView,
  type WorkDone,
  type WorkRequest,
  type WorkResult,
} from '@gimbal/core';
import { EventStream, type StreamFormat, wantedFormat } from '../front/event-stream.ts';
import { withTimeout } from '../front/front-request.ts';
import type { EdgePorts, EdgeRequest, Inferred } from '../route.ts';
import {
  type AnswerBody,
  failedResults,
  type ItemResult,
  listAnswer,
  pieceDocument,
  singleAnswer,
  streamEnd,
  summarise,
} from './answer-bytes.ts';
import { refuseField } from './field-refusal.ts';
import type { ItemList } from './item.ts';
import { ItemMemory } from './item-memory.ts';
import type { PredictParameters } from './parameters.ts';

/** Renders what came of a request's inputs; the compatibility routes have their own. */
export interface AnswerWriter {
  one(prediction: Prediction, done: WorkDone): AnswerBody;
  several(prediction: Prediction, results: readonly ItemResult[], how: Inferred): AnswerBody;
  /** Whether clients may ask for the answer in pieces. Default: false. */
  readonly streams?: boolean;
}

export const NATIVE_WRITER: AnswerWriter = {
  one: (prediction, done) => singleAnswer(prediction.version.spec, done, prediction.end()),
  several: (prediction, results, how) =>
    listAnswer(prediction.version.spec, { results, how }, prediction.end()),
  streams: true,
};

/** Given the memory and the parameters, the inputs of a request. It may be asked twice: see `begin`. */
export interface Intake {
  readonly list: ItemList;
  readonly parameters: PredictParameters;
}

/**
 * One native request from admission to its answer: it opens the call, submits a work for each input, gathers their
 * results, and closes the call exactly once, whatever happens.
 */
export class Prediction {
  readonly request: EdgeRequest;
  readonly version: VersionView;
  readonly #ports: EdgePorts;
  readonly #writer: AnswerWriter;
  #context: CallContext;
  #call: Call | undefined;
  #memory: ItemMemory | undefined;
  #results: (ItemResult | undefined)[] = [];
  #waiting = 0;

  constructor(
    ports: EdgePorts,
    request: EdgeRequest,
    { version, writer }: { readonly version: VersionView; readonly writer: AnswerWriter },
  ) {
    this.#ports = ports;
    this.request = request;
    this.#context = request.context;
    this.version = version;
    this.#writer = writer;
    request.reply.about(version, 0);
  }

  /** Admission. Throws OVERLOADED, DEADLINE_EXCEEDED or DRAINING. */
  open(timeoutMs: number | undefined): void {
    if (timeoutMs !== undefined) this.#context = withTimeout(this.#context, timeoutMs);
    this.#call = this.#ports.inference.open(this.version, this.#context);
    this.request.reply.onAbort(this.close);
  }

  /** Closed calls take nothing more: the client has gone. */
  get isOpen(): boolean {
    return this.#call !== undefined;
  }

  get memory(): ItemMemory {
    if (!this.#call) throw new Error('the call is closed');
    this.#memory ??= new ItemMemory(this.#call);
    return this.#memory;
  }

  end(): { readonly requestId: string; readonly totalMs: number } {
    return { requestId: this.request.requestId, totalMs: this.request.reply.totalMs() };
  }

  /**
   * Reads the inputs and submits them. A budget among the parameters that is smaller than the headers' is only known
   * now: the call is then admitted once more, with it, and the inputs are read again.
   */
  begin(read: (memory: ItemMemory) => Intake): void {
    this.guard(() => {
      let intake = read(this.memory);
      const { timeoutMs } = intake.parameters;
      if (timeoutMs !== undefined && this.#shortens(timeoutMs)) {
        this.#readmit(timeoutMs);
        intake = read(this.memory);
      }
      this.submit(intake.list, intake.parameters.answer);
    });
  }

  /** Runs a step of an open call: what it throws ends the request. */
  guard(step: () => void): void {
    try {
      step();
    } catch (error) {
      this.fail(error);
    }
  }

  /** Queues all inputs that can be run. */
  submit(list: ItemList, parameters: AnswerParameters): void {
    const [only] = list.items;
    if (list.form === 'one' && only) {
      if (!only.ok) throw only.error;
      this.request.reply.about(this.version, only.rows);
      const work: WorkRequest = { input: only.input, rows: only.rows, want: 'answer', parameters };
      const format = this.#wantedFormat();
      if (format) this.#submitStream(work, format);
      else this.#submitWork(work, this.#settledOne);
      return;
    }
    if (this.#wantedFormat()) throw severalStreams();
    this.#submitList(list, parameters);
  }

  /** Ends the request with an error. */
  fail(error: unknown): void {
    this.close();
    this.request.reply.fail(error);
  }

  /** Idempotent: a departing client may be reported twice. */
  readonly close = (): void => {
    const call = this.#call;
    this.#call = undefined;
    this.#memory = undefined;
    call?.close();
  };

  #wantedFormat(): StreamFormat | undefined {
    if (!this.#writer.streams) return undefined;
    return wantedFormat(this.request.exchange.head.header('accept'));
  }

  /** A model that does not stream answers in one piece: callers need not know which kind it is. */
  #submitStream(work: WorkRequest, format: StreamFormat): void {
    const { spec } = this.version;
    const stream = new EventStream(this.#ports, this.request, {
      format,
      namesEvents: true,
      end: (pieces, how) => streamEnd(spec, { pieces, how }, this.end()),
    });
    this.#call?.submit(
      work,
      (result) => {
        if (!result.ok) stream.fail(result.error);
        else {
          const { parts } = result;
          if (!spec.signature.streams) stream.piece(pieceDocument(0, parts), result, () => {});
          stream.end(result);
        }
        this.close();
      },
      (piece) => stream.piece(pieceDocument(piece.index, [piece.output]), piece, () => piece.taken()),
    );
  }

  #submitList({ items }: ItemList, parameters: AnswerParameters): void {
    this.#results = items.map((item) => (item.ok ? undefined : item.error));
    this.#waiting = items.filter((item) => item.ok).length;
    this.request.reply.about(
      this.version,
      items.reduce((rows, item) => rows + (item.ok ? item.rows : 1), 0),
    );
    if (this.#waiting === 0) {
      this.#answerList();
      return;
    }
    for (let index = 0; index < items.length; index += 1) {
      const item = items[index];
      // A call that has ended takes no more.
      if (!item?.ok || !this.isOpen) continue;
      this.#submitWork({ input: item.input, rows: item.rows, want: 'answer', parameters }, (result) =>
        this.#settledItem(index, result),
      );
    }
  }

  #submitWork(work: WorkRequest, onSettled: (result: WorkResult) => void): void {
    this.#call?.submit(work, onSettled);
  }

  readonly #settledOne = (result: WorkResult): void => {
    if (!result.ok) {
      this.fail(result.error);
      return;
    }
    try {
      this.#send(this.#writer.one(this, result), result);
    } catch (error) {
      this.fail(error);
    }
  };

  #settledItem(index: number, result: WorkResult): void {
    this.#results[index] = result.ok ? result : result.error;
    this.#waiting -= 1;
    if (this.#waiting === 0) this.#answerList();
  }

  #answerList(): void {
    try {
      const results = this.#results.filter((result) => result !== undefined);
      const done = results.filter((result): result is WorkDone => !(result instanceof Error));
      if (done.length === 0) {
        this.#failList(results.filter((result): result is GimbalError => result instanceof Error));
        return;
      }
      const how = summarise(done);
      this.#send(this.#writer.several(this, results, how), how);
    } catch (error) {
      this.fail(error);
    }
  }

  /** When nothing succeeded the request has failed too: its status is the first input's, and each is listed. */
  #failList(errors: readonly GimbalError[]): void {
    this.close();
    const first = errors[0] ?? toGimbalError(undefined);
    this.request.reply.fail(first, { members: failedResults(errors) });
  }

  /** The body views the works' memory: the call ends when it has left. */
  #send(body: AnswerBody, how: Inferred): void {
    const answer = { status: 200, contentType: 'application/json', body, onFlushed: this.close };
    this.request.reply.inferred(answer, how);
  }

  #shortens(timeoutMs: number): boolean {
    const current = this.#context.timeoutMs;
    return current === undefined || timeoutMs < current;
  }

  #readmit(timeoutMs: number): void {
    this.close();
    this.#context = withTimeout(this.#context, timeoutMs);
    this.#call = this.#ports.inference.open(this.version, this.#context);
  }
}

function severalStreams(): GimbalError {
  return refuseField('stream the answers', {
    pointer: '/inputs',
    expected: 'one "input", since a stream answers one',
    received: 'a list of inputs',
  });
}
