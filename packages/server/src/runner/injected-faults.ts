import type { FaultOrder, RunnerFault, RunnerFaultKind } from '@gimbal/core';
import type { PartResult } from '../transport/part-result.ts';
import type { RunPart } from '../transport/run-frame.ts';
import type { BatchOutcome } from './batch-run.ts';
import type { ModelSession } from './model-session.ts';
import type { OnnxValue } from './onnx-binding.ts';

/** Faults at one time; further ones push out the oldest. */
const MAX_FAULTS = 16;
/** What leaks keep in all, so that a drill ends before the machine does. */
const MAX_LEAK_BYTES = 512 * 1024 * 1024;
/** As a shell tells of a segmentation fault; a real one would leave a core file behind. */
const CRASH_EXIT_CODE = 139;

export interface FaultPorts {
  now(): number;
  /** Blocks the thread, as a run of the model does. */
  pause(ms: number): void;
  exit(code: number): void;
}

interface ActiveFault {
  readonly order: FaultOrder;
  readonly endsAt: number;
  batchesLeft: number;
  /** Share of a failure that has come together over the inputs. */
  owed: number;
}

type FaultOf<Kind extends RunnerFaultKind> = Extract<RunnerFault, { kind: Kind }>;

/** What a drill has ordered of this runner, done in the middle of its batches. */
export class InjectedFaults {
  readonly #ports: FaultPorts;
  #faults: ActiveFault[] = [];
  /** Those that touch the batch at hand. */
  #touching: readonly ActiveFault[] = [];
  readonly #leaked: Uint8Array[] = [];
  #leakedBytes = 0;

  constructor(ports: FaultPorts) {
    this.#ports = ports;
  }

  take(order: FaultOrder): void {
    this.end(order.id);
    if (this.#faults.length >= MAX_FAULTS) this.#faults.shift();
    const endsAt = this.#ports.now() + order.durationMs;
    this.#faults.push({ order, endsAt, batchesLeft: order.batches, owed: 0 });
  }

  end(id: number): void {
    this.#faults = this.#faults.filter(({ order }) => order.id !== id);
  }

  /** Runs a batch, broken as ordered. */
  run(
    parts: readonly RunPart[],
    run: () => BatchOutcome | Promise<BatchOutcome>,
  ): BatchOutcome | Promise<BatchOutcome> {
    if (this.#faults.length === 0) return run();
    this.#begin(parts);
    for (const { order } of this.#touching) {
      if (order.fault.kind === 'leak') this.#leak(order.fault.bytesPerBatch);
    }
    const outcome = run();
    return outcome instanceof Promise
      ? outcome.then((ended) => this.#finish(ended, parts))
      : this.#finish(outcome, parts);
  }

  /** A session whose runs crash, hang, drag or give nonsense while faults say so. */
  session(session: ModelSession): ModelSession {
    return { ...session, run: (feeds) => this.#runSession(session, feeds) };
  }

  #begin(parts: readonly RunPart[]): void {
    const now = this.#ports.now();
    this.#faults = this.#faults.filter(({ endsAt, batchesLeft }) => now < endsAt && batchesLeft > 0);
    this.#touching = this.#faults.filter(({ order }) => isAbout(order.fault, parts));
    for (const fault of this.#touching) fault.batchesLeft -= 1;
  }

  #runSession(
    session: ModelSession,
    feeds: Readonly<Record<string, OnnxValue>>,
  ): Readonly<Record<string, OnnxValue>> {
    const hang = this.#fault('hang');
    if (this.#fault('crash')) this.#ports.exit(CRASH_EXIT_CODE);
    if (hang) this.#ports.pause(Math.max(0, hang.endsAt - this.#ports.now()));
    if (this.#fault('device-loss')) throw new Error('CUDA failure 999: the device is gone (a drill)');
    const started = this.#ports.now();
    const outputs = session.run(feeds);
    const slow = this.#fault('slow')?.order.fault;
    if (slow) this.#drag(slow as FaultOf<'slow'>, this.#ports.now() - started);
    if (this.#fault('non-finite')) for (const output of Object.values(outputs)) spoil(output);
    return outputs;
  }

  #drag({ factor, addMs }: FaultOf<'slow'>, tookMs: number): void {
    this.#ports.pause(tookMs * (factor - 1) + addMs);
  }

  #finish(outcome: BatchOutcome, parts: readonly RunPart[]): BatchOutcome {
    let { results } = outcome;
    const rows = parts.reduce((sum, part) => sum + part.rows, 0);
    for (const fault of this.#touching) {
      const what = fault.order.fault;
      if (what.kind === 'fail') results = results.map((result) => this.#failed(fault, what, result));
      if (what.kind === 'out-of-memory' && rows > what.aboveRows) results = results.map(() => OUT_OF_MEMORY);
    }
    this.#touching = [];
    return { ...outcome, results };
  }

  /** Evenly spread, exactly in the ratio that was ordered. */
  #failed(fault: ActiveFault, { ratio, code }: FaultOf<'fail'>, result: PartResult): PartResult {
    fault.owed += ratio;
    if (fault.owed < 1) return result;
    fault.owed -= 1;
    return {
      kind: 'failed',
      failure: { code, message: 'Cannot answer: a drill makes it fail', fields: [] },
    };
  }

  #leak(byteLength: number): void {
    const room = Math.min(byteLength, MAX_LEAK_BYTES - this.#leakedBytes);
    if (room <= 0) return;
    // Written to, since memory that is only promised is not resident.
    this.#leaked.push(new Uint8Array(room).fill(1));
    this.#leakedBytes += room;
  }

  #fault(kind: RunnerFaultKind): ActiveFault | undefined {
    return this.#touching.find(({ order }) => order.fault.kind === kind);
  }
}

const OUT_OF_MEMORY: PartResult = {
  kind: 'failed',
  failure: {
    code: 'OUT_OF_MEMORY',
    message: 'Cannot run the model: it ran out of memory on this input (a drill)',
    fields: [],
  },
};

function isAbout(fault: RunnerFault, parts: readonly RunPart[]): boolean {
  if (fault.kind !== 'crash' || fault.inputPrefix === undefined) return true;
  const prefix = Buffer.from(fault.inputPrefix, 'hex');
  return parts.some(({ tensors }) =>
    tensors.some(({ bytes }) => prefix.equals(bytes.subarray(0, prefix.length))),
  );
}

/** Whole numbers and strings can't be NaN and stay as they are. */
function spoil({ data, type }: OnnxValue): void {
  if (data instanceof Float32Array || data instanceof Float64Array) data.fill(Number.NaN);
  else if (type === 'float16' && data instanceof Uint16Array) data.fill(0x7e00);
}
