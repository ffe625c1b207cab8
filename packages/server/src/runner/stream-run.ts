import { GimbalError, isGimbalError, toGimbalError } from '@gimbal/core';
import type { PartFailure, PartResult } from '../transport/part-result.ts';
import { pieceBytes } from '../transport/piece-frame.ts';
import type { StageTimes } from '../transport/report-frame.ts';
import type { RunPart, StreamOrder } from '../transport/run-frame.ts';
import type { LoadedModel } from './batch-run.ts';
import { InputBatch, misfit } from './input-batch.ts';
import { OutputRows, outputInvalid } from './output-rows.ts';
import { runFailure } from './run-failure.ts';
import type { StreamOutputs, StreamSource } from './stream-source.ts';
import type { PreparedInput } from './tasks/task.ts';

/** A variant that is ready to stream. */
export type StreamingModel = Pick<LoadedModel, 'spec' | 'signature' | 'adapter'> & {
  readonly source: StreamSource;
};

export interface StreamRunPorts {
  piece(index: number, result: PartResult): void;
  ended(result: PartResult, times: StageTimes): void;
  now(): number;
  /** Resolves when the event loop has looked for frames: a model that never waits would not let a cancellation in. */
  turn(): Promise<void>;
  logError(error: unknown): void;
}

const CANCELLED: PartResult = {
  kind: 'failed',
  failure: { code: 'CANCELLED', message: 'Cannot answer: nobody reads the stream any more', fields: [] },
};

/**
 * Runs one stream: asks the model for the next piece only while there is credit for it, and for no more once it was
 * cancelled.
 */
export class StreamRun {
  readonly #model: StreamingModel;
  readonly #part: RunPart;
  readonly #order: StreamOrder;
  readonly #ports: StreamRunPorts;
  readonly #abort = new AbortController();
  #credit: number;
  /** Set while it waits for credit. */
  #wake: (() => void) | undefined;
  #index = 0;
  #preprocessMs = 0;
  #inferMs = 0;
  #postprocessMs = 0;

  constructor(
    model: StreamingModel,
    { part, order }: { part: RunPart; order: StreamOrder },
    ports: StreamRunPorts,
  ) {
    this.#model = model;
    this.#part = part;
    this.#order = order;
    this.#credit = order.credit;
    this.#ports = ports;
  }

  /** Ends with `ended`, whatever happens. */
  async run(): Promise<void> {
    let result: PartResult;
    try {
      result = await this.#stream();
    } catch (error) {
      result = this.#isCancelled ? CANCELLED : { kind: 'failed', failure: this.#failureOf(error) };
    }
    this.#ports.ended(result, {
      preprocessMs: this.#preprocessMs,
      inferMs: this.#inferMs,
      postprocessMs: this.#postprocessMs,
    });
  }

  /** So many further pieces may be sent. */
  grant(pieces: number): void {
    this.#credit += pieces;
    this.#wakeUp();
  }

  cancel(): void {
    this.#abort.abort();
    this.#wakeUp();
  }

  get #isCancelled(): boolean {
    return this.#abort.signal.aborted;
  }

  async #stream(): Promise<PartResult> {
    const { source, signature } = this.#model;
    const started = this.#ports.now();
    const prepared = await this.#prepared();
    const tensors = prepared?.tensors ?? this.#part.tensors;
    const wrong = misfit(tensors, signature);
    if (wrong !== undefined)
      throw new GimbalError('INVALID_INPUT', `Cannot run the model on this input: ${wrong}`);
    const feeds = new InputBatch(signature).feeds([tensors], this.#part.rows);
    this.#preprocessMs = this.#ports.now() - started;
    const iterator = source.stream(feeds, this.#part.parameters, this.#abort.signal)[Symbol.asyncIterator]();
    let isOpen = true;
    try {
      while (await this.#mayGoOn()) {
        const next = await this.#next(iterator);
        if (next.done) {
          isOpen = false;
          return { kind: 'streamed' };
        }
        if (!this.#isCancelled) this.#send(next.value, prepared);
      }
      return CANCELLED;
    } finally {
      if (isOpen) await this.#close(iterator);
    }
  }

  #prepared(): Promise<PreparedInput> | PreparedInput | undefined {
    const [encoded] = this.#part.tensors;
    return this.#part.encoded && encoded ? this.#model.adapter.prepare(encoded.bytes) : undefined;
  }

  /** Resolves when there is credit, true, or when it was cancelled, false. */
  async #mayGoOn(): Promise<boolean> {
    await this.#ports.turn();
    while (this.#credit === 0 && !this.#isCancelled) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    return !this.#isCancelled;
  }

  #wakeUp(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }

  async #next(iterator: AsyncIterator<StreamOutputs>): Promise<IteratorResult<StreamOutputs>> {
    const started = this.#ports.now();
    try {
      return await iterator.next();
    } finally {
      this.#inferMs += this.#ports.now() - started;
    }
  }

  #send(outputs: StreamOutputs, prepared: PreparedInput | undefined): void {
    const started = this.#ports.now();
    const result = this.#resultOf(outputs, prepared);
    const byteLength = pieceBytes(result);
    const { maxPieceBytes } = this.#order;
    if (byteLength > maxPieceBytes) {
      throw outputInvalid(
        `a piece of the stream has ${byteLength} bytes, expected at most ${maxPieceBytes} (stream.maxPieceBytes)`,
      );
    }
    this.#ports.piece(this.#index, result);
    this.#index += 1;
    this.#credit -= 1;
    this.#postprocessMs += this.#ports.now() - started;
  }

  #resultOf(values: StreamOutputs, prepared: PreparedInput | undefined): PartResult {
    const { signature, spec, adapter } = this.#model;
    const missing = signature.outputs.find(({ name }) => values[name] === undefined);
    if (missing) throw outputInvalid(`a piece of the stream has no output "${missing.name}"`);
    const [first] = signature.outputs;
    const dims = first && values[first.name]?.dims;
    const rows = signature.batchAxis === 'dynamic' ? (dims?.[0] ?? 1) : 1;
    const whole = new OutputRows(signature, values, rows);
    const outputs = whole.cut(0, rows);
    if (this.#part.want === 'tensors') return { kind: 'tensors', rows, outputs };
    const broken = spec.nonFiniteOutputs === 'error' ? whole.firstNonFinite(outputs) : undefined;
    if (broken !== undefined) throw outputInvalid(`the output "${broken}" has NaN or Infinity in it`);
    return { kind: 'answer', json: adapter.answer(outputs, rows, this.#part.parameters, prepared) };
  }

  /** As a loop that is left does: the model's own `finally` runs. */
  async #close(iterator: AsyncIterator<StreamOutputs>): Promise<void> {
    this.#abort.abort();
    try {
      await iterator.return?.();
    } catch (error) {
      this.#ports.logError(error);
    }
  }

  #failureOf(error: unknown): PartFailure {
    if (!isGimbalError(error)) {
      this.#ports.logError(error);
      return runFailure(error, this.#model.signature);
    }
    const { code, message, fields } = toGimbalError(error);
    return { code, message, fields };
  }
}
