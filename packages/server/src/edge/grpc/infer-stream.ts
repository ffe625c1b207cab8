import { GimbalError } from '@gimbal/core';
import type { handleBidiStreamingCall, ServerDuplexStream } from '@grpc/grpc-js';
import { withTimeout } from '../front/front-request.ts';
import type { EdgePorts } from '../route.ts';
import { answerMetadata } from './answer-metadata.ts';
import type { CallFront, Fronts } from './call-front.ts';
import { CallReport } from './call-report.ts';
import { failedStatus, publicMessage } from './failure.ts';
import { inferAnswer, type OutgoingMessage, streamAnswer, streamError } from './infer-answer.ts';
import type { InferMessage } from './infer-message.ts';
import { InferRun } from './infer-run.ts';

const EMPTY_FINAL = 'triton_enable_empty_final_response';

/** A client that was told to go away finds another replica, or this one restarted. */
const RETRY_MS = 1_000;

type Stream = ServerDuplexStream<Buffer, OutgoingMessage>;

/** `ModelStreamInfer`: requests and their answers, in the order in which they are done. */
export class InferStreams {
  readonly #open = new Set<InferStream>();
  readonly handler: handleBidiStreamingCall<Buffer, OutgoingMessage>;

  constructor(ports: EdgePorts, fronts: Fronts, maxInFlight: number) {
    this.handler = (stream) => {
      const front = fronts.get(stream.metadata);
      if (!front) throw new Error('a call of this service passes the front');
      const opened = new InferStream(ports, { stream, front, maxInFlight });
      this.#open.add(opened);
      stream.once('cancelled', () => this.#open.delete(opened));
      opened.start();
    };
  }

  /** Streams end as soon as what is inside them has been answered. */
  drain(): void {
    for (const stream of this.#open) stream.drain();
  }
}

/**
 * The requests of one stream. At most `maxInFlight` are inside, their answers not yet taken by the client included:
 * the next message waits outside the library until one has ended, and the client's flow control behind it.
 */
class InferStream {
  readonly #ports: EdgePorts;
  readonly #stream: Stream;
  readonly #front: CallFront;
  readonly #maxInFlight: number;
  readonly #runs = new Map<InferRun, CallReport>();
  /** A message that found no room. */
  #waiting: (() => void) | undefined;
  #count = 0;
  /** The client sends nothing more. */
  #isEnding = false;
  #isDraining = false;
  #isOver = false;

  constructor(
    ports: EdgePorts,
    { stream, front, maxInFlight }: { stream: Stream; front: CallFront; maxInFlight: number },
  ) {
    this.#ports = ports;
    this.#stream = stream;
    this.#front = front;
    this.#maxInFlight = maxInFlight;
  }

  start(): void {
    const stream = this.#stream;
    // Its requests are reported, each by itself.
    this.#front.report.dismiss();
    this.#front.gate = (letIn) => {
      if (this.#runs.size < this.#maxInFlight) letIn();
      else this.#waiting = letIn;
    };
    stream.sendMetadata(answerMetadata(this.#front.requestId));
    stream.on('data', (bytes: Buffer) => this.#take(bytes));
    stream.once('end', () => {
      this.#isEnding = true;
      this.#endWhenDone();
    });
    stream.once('cancelled', () => this.#cancel());
    // What a client that left makes of writes; `cancelled` tells of it.
    stream.on('error', () => {});
  }

  #take(bytes: Buffer): void {
    if (this.#isOver) return;
    this.#count += 1;
    const receivedAt = this.#ports.clock.now();
    const requestId = `${this.#front.requestId}.${this.#count}`;
    const report = new CallReport(this.#ports, {
      route: this.#front.route,
      requestId,
      traceId: this.#front.traceId,
      receivedAt,
    });
    report.requestBytes = bytes.length;
    const run: InferRun = new InferRun(
      this.#ports,
      {
        context: this.#contextAt(receivedAt, requestId),
        report,
        final: (message) => !wantsEmptyFinal(message),
      },
      {
        answered: (answer, made) => {
          report.ok(answer.byteLength, made.how);
          const isLast = !wantsEmptyFinal(run.message);
          this.#write(streamAnswer(answer), () => {
            if (isLast) this.#done(run);
            else this.#write(streamAnswer(emptyFinal(run)), () => this.#done(run));
          });
        },
        failed: (error) => {
          report.failed(error);
          this.#write(streamError(publicMessage(error), failedHead(run)), () => this.#done(run));
        },
      },
    );
    this.#runs.set(run, report);
    run.start(bytes);
  }

  /** The stream's budget is shared by all requests in it. */
  #contextAt(receivedAt: number, requestId: string): CallFront['context'] {
    const { context } = this.#front;
    const own = { ...context, requestId, receivedAt, timeoutMs: undefined };
    if (context.timeoutMs === undefined) return own;
    return withTimeout(own, Math.max(0, context.timeoutMs - (receivedAt - context.receivedAt)));
  }

  #write(message: OutgoingMessage, onWritten: () => void): void {
    this.#stream.write(message, onWritten);
  }

  #done(run: InferRun): void {
    run.close();
    this.#runs.delete(run);
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.();
    this.#endWhenDone();
  }

  /** The server stops: the stream ends when what is inside has been answered. */
  drain(): void {
    this.#isDraining = true;
    this.#endWhenDone();
  }

  #endWhenDone(): void {
    if (this.#isOver || this.#runs.size > 0) return;
    if (this.#isEnding) {
      this.#isOver = true;
      this.#stream.end();
    } else if (this.#isDraining) {
      this.#isOver = true;
      const error = new GimbalError('DRAINING', 'Cannot take more requests: the server is shutting down', {
        retryAfterMs: RETRY_MS,
      });
      this.#stream.emit('error', failedStatus(error, this.#front.requestId, this.#ports.random));
    }
  }

  /** The client has left, or its deadline passed: everything that it waits for ends. */
  #cancel(): void {
    this.#isOver = true;
    const error: GimbalError = this.#front.abandoned();
    for (const [run, report] of this.#runs) {
      report.failed(error);
      run.close();
    }
    this.#runs.clear();
    this.#waiting = undefined;
  }
}

function wantsEmptyFinal(message: InferMessage | undefined): boolean {
  return message?.parameters.get(EMPTY_FINAL) === true;
}

/** Says that nothing more comes for a request that wanted to be told so. */
function emptyFinal(run: InferRun): OutgoingMessage {
  return inferAnswer({ ...run.headOf(undefined), final: true }, []);
}

/** Nothing comes after an error. */
function failedHead(run: InferRun): ReturnType<InferRun['headOf']> {
  return { ...run.headOf(undefined), final: true };
}
