import { isGimbalError, toGimbalError } from '@gimbal/core';
import {
  type LoadOrder,
  PROTOCOL,
  type RunnerMessage,
  readHostMessage,
} from '../transport/control-message.ts';
import type { Doorbell } from '../transport/doorbell.ts';
import { MAX_FRAME_BYTES } from '../transport/frame-buffer.ts';
import { type PartResult, resultBytes } from '../transport/part-result.ts';
import { readCredit, writePiece } from '../transport/piece-frame.ts';
import { batchIdOf, writeReport } from '../transport/report-frame.ts';
import { type RunOrder, readRun } from '../transport/run-frame.ts';
import { mapArena } from '../transport/shared-arena.ts';
import { type BatchOutcome, BatchRun, type LoadedModel } from './batch-run.ts';
import type { InjectedFaults } from './injected-faults.ts';
import type { LoadPorts, PreparedModel } from './load-model.ts';
import { StreamRun } from './stream-run.ts';

/** Most bytes of outputs that travel in a frame; what is over it is refused, not sent. */
const MAX_INLINE_BYTES = MAX_FRAME_BYTES - 16 * 1024 * 1024;

const NO_TIMES = { preprocessMs: 0, inferMs: 0, postprocessMs: 0 };
/** The host streams only from models that said they do; anything else is a bug. */
const NO_STREAM: PartResult = {
  kind: 'failed',
  failure: { code: 'INTERNAL', message: 'Cannot answer: the model does not stream', fields: [] },
};

export interface RunnerPorts {
  readonly doorbell: Doorbell;
  readonly arenaFd: number;
  residentBytes(): number;
  /** Processor time that this process has used. */
  processorMs(): number;
  /** Makes a model of what it is told to load. */
  load(order: LoadOrder, ports: LoadPorts): Promise<PreparedModel>;
  now(): number;
  /** Resolves when the event loop has come round: frames that had arrived have been read. */
  turn(): Promise<void>;
  /** Breaks batches on purpose; undefined where drills are off. */
  readonly faults: InjectedFaults | undefined;
  setTitle(title: string): void;
  logError(error: unknown): void;
  exit(code: number): void;
}

/** The runner's life: says hello, loads what it is told, runs batches one at a time, stops when told. */
export class Runner {
  readonly #ports: RunnerPorts;
  #arena: Uint8Array | undefined;
  #model: LoadedModel | undefined;
  #batches: BatchRun | undefined;
  #stream: { readonly batchId: number; readonly run: StreamRun } | undefined;
  #busy = false;
  #stopping = false;

  constructor(ports: RunnerPorts) {
    this.#ports = ports;
  }

  start(): void {
    this.#say({ kind: 'hello', protocol: PROTOCOL });
  }

  onControl(body: Uint8Array): void {
    const message = readHostMessage(body);
    switch (message.kind) {
      case 'load':
        void this.#load(message);
        break;
      case 'ping':
        this.#say({ kind: 'pong', id: message.id, residentBytes: this.#ports.residentBytes() });
        break;
      case 'fault':
        if (this.#ports.faults) this.#ports.faults.take(message.order);
        else this.#ports.logError('A fault was refused: this runner was started without drills');
        break;
      case 'end-fault':
        this.#ports.faults?.end(message.id);
        break;
      case 'stop':
        this.#stopping = true;
        if (!this.#busy) this.#leave();
        break;
    }
  }

  onRun(body: Uint8Array): void {
    const order = readRun(body, this.#arena);
    const { parts, batchId } = order;
    const { faults } = this.#ports;
    const batches = this.#batches;
    if (!batches) throw new Error(`batch ${batchId} came before the model was ready`);
    this.#busy = true;
    if (order.stream) {
      this.#startStream(order);
      return;
    }
    const outcome = faults ? faults.run(parts, () => batches.run(parts)) : batches.run(parts);
    if (outcome instanceof Promise) void outcome.then((ended) => this.#report(order, ended));
    else this.#report(order, outcome);
  }

  onCredit(body: Uint8Array): void {
    const { batchId, pieces } = readCredit(body);
    if (this.#stream?.batchId === batchId) this.#stream.run.grant(pieces);
  }

  /** Its stream may have ended meanwhile. */
  onCancel(body: Uint8Array): void {
    if (this.#stream?.batchId === batchIdOf(body)) this.#stream.run.cancel();
  }

  #startStream(order: RunOrder): void {
    const { doorbell, now, turn, logError } = this.#ports;
    const { batchId, stream, parts } = order;
    const [part] = parts;
    const { source } = this.#model ?? {};
    if (!this.#model || !source || !stream || !part || parts.length > 1) {
      this.#report(order, { results: parts.map(() => NO_STREAM), times: NO_TIMES });
      return;
    }
    const run = new StreamRun(
      { ...this.#model, source },
      { part, order: stream },
      {
        now,
        turn,
        logError,
        piece: (index, result) => {
          writePiece(doorbell.begin('piece'), { batchId, index }, result);
          doorbell.send();
        },
        ended: (result, times) => {
          this.#stream = undefined;
          this.#report(order, { results: [result], times });
        },
      },
    );
    this.#stream = { batchId, run };
    void run.run();
  }

  async #load(order: LoadOrder): Promise<void> {
    try {
      const { spec, variant, arenaBytes } = order;
      const name = spec.variants[variant]?.name ?? String(variant);
      this.#ports.setTitle(`gimbal-runner ${spec.model}/${spec.version}/${name}`);
      this.#say({ kind: 'progress', state: 'loading' });
      if (arenaBytes !== undefined) this.#arena = mapArena(this.#ports.arenaFd, arenaBytes);
      const loaded = await this.#ports.load(order, {
        onWarming: () => this.#say({ kind: 'progress', state: 'warming' }),
        processorMs: this.#ports.processorMs,
        onNote: this.#ports.logError,
      });
      const { model } = loaded;
      const session = this.#ports.faults?.session(model.session) ?? model.session;
      this.#model = model;
      this.#batches = new BatchRun({ ...model, session }, this.#ports.logError);
      this.#say({
        kind: 'ready',
        signature: loaded.model.signature,
        profile: loaded.profile,
        device: loaded.model.session.device,
        loadMs: loaded.loadMs,
        residentBytes: this.#ports.residentBytes(),
      });
    } catch (error) {
      if (!isGimbalError(error)) this.#ports.logError(error);
      const { code, message } = toGimbalError(error);
      this.#say({ kind: 'failed', code, message });
    }
  }

  #report(order: RunOrder, { results, times }: BatchOutcome): void {
    const { doorbell } = this.#ports;
    const span = order.outputSpan;
    const space = span && this.#arena?.subarray(span.offset, span.offset + span.byteLength);
    const head = {
      batchId: order.batchId,
      preprocessMs: times.preprocessMs,
      inferMs: times.inferMs,
      postprocessMs: times.postprocessMs,
      residentBytes: this.#ports.residentBytes(),
    };
    writeReport(doorbell.begin('report'), head, { results: withinFrame(results), space });
    doorbell.send();
    this.#busy = false;
    if (this.#stopping) this.#leave();
  }

  #leave(): void {
    this.#ports.doorbell.finish(() => this.#ports.exit(0));
  }

  #say(message: RunnerMessage): void {
    this.#ports.doorbell.control(message);
  }
}

/** Outputs that no frame could carry become an error of their part. */
function withinFrame(results: readonly PartResult[]): readonly PartResult[] {
  if (resultBytes(results) <= MAX_INLINE_BYTES) return results;
  const share = MAX_INLINE_BYTES / results.length;
  return results.map((result) =>
    resultBytes([result]) <= share
      ? result
      : {
          kind: 'failed',
          failure: {
            code: 'OUTPUT_INVALID',
            message: `Cannot answer: the outputs have ${resultBytes([result])} bytes, expected at most ${share}`,
            fields: [],
          },
        },
  );
}
