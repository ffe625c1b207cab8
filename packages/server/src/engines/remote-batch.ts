import {
  type BatchJob,
  type BatchReport,
  type FieldError,
  GimbalError,
  type Instant,
  isGimbalError,
  type PartReport,
  type Signature,
  type TensorOutput,
  toGimbalError,
} from '@gimbal/core';
import type { Arena } from '../transport/arena.ts';
import type { Attempts } from './attempts.ts';
import { type PeerFailure, toPeerFailure } from './peer-failure.ts';
import type { AnswerWriter } from './remote-answer.ts';
import { groupInputs, joinMembers, type RunGroup } from './run-inputs.ts';
import { cutOutputs } from './run-outputs.ts';

export interface RemoteBatchOptions {
  readonly attempts: Attempts;
  readonly arena: Pick<Arena, 'bytes'>;
  readonly signature: Signature;
  readonly answers: AnswerWriter;
  readonly now: () => Instant;
}

export interface RemoteBatchRun {
  readonly deadline: Instant;
  readonly predictedMs: number;
  readonly signal: AbortSignal;
}

/** Runs batches: gathers their parts into requests, sends these, and gives each part its rows of the outputs. */
export class RemoteBatch {
  readonly #options: RemoteBatchOptions;
  readonly #run: RemoteBatchRun;
  readonly #parts: PartReport[];
  /** The last failure that was the remote engine's own word of having too much to do. */
  overloaded = false;
  /** Any part came to nothing. */
  failed = false;
  inferMs = 0;
  #postprocessMs = 0;

  constructor(options: RemoteBatchOptions, job: BatchJob, run: RemoteBatchRun) {
    this.#options = options;
    this.#run = run;
    this.#parts = job.parts.map(() =>
      failure(new GimbalError('INTERNAL', 'Cannot answer: no result was made')),
    );
  }

  /** Never rejects: what went wrong is in the report. The inputs are copied before this returns. */
  async report(job: BatchJob): Promise<BatchReport> {
    const { now, arena, signature } = this.#options;
    const startedAt = now();
    const { groups, refused } = groupInputs(job.parts, { arena, signature });
    for (const { index, wrong } of refused) {
      this.#parts[index] = failure(
        new GimbalError('INVALID_INPUT', `Cannot run the model on this input: ${wrong}`),
      );
    }
    const preprocessMs = now() - startedAt;
    await Promise.all(groups.map((group) => this.#runGroup(group)));
    this.inferMs = Math.max(0, now() - startedAt - preprocessMs - this.#postprocessMs);
    return {
      parts: this.#parts,
      preprocessMs,
      inferMs: this.inferMs,
      postprocessMs: this.#postprocessMs,
      // The outputs are views of memory that only they hold: the garbage collector's.
      release: () => {},
    };
  }

  async #runGroup(group: RunGroup): Promise<void> {
    let outputs: readonly TensorOutput[];
    try {
      outputs = await this.#options.attempts.run(group.request, this.#run);
    } catch (error) {
      await this.#groupFailed(group, toPeerFailure(error));
      return;
    }
    const startedAt = this.#options.now();
    let first = 0;
    for (const { index, rows } of group.members) {
      this.#parts[index] = this.#partOf(group, outputs, { index, first, rows });
      first += rows;
    }
    this.#postprocessMs += this.#options.now() - startedAt;
  }

  /** One input that is at fault must not cost its neighbours their answers: halves are sent, down to single parts. */
  async #groupFailed(group: RunGroup, error: PeerFailure): Promise<void> {
    const { members } = group;
    if (error.kind === 'input' && members.length > 1) {
      const middle = members.length >> 1;
      await this.#runGroup(joinMembers(members.slice(0, middle), group.request.signature));
      await this.#runGroup(joinMembers(members.slice(middle), group.request.signature));
      return;
    }
    this.failed = true;
    this.overloaded ||= error.kind === 'overloaded';
    for (const { index } of members) this.#parts[index] = failure(error.toError());
  }

  #partOf(
    group: RunGroup,
    outputs: readonly TensorOutput[],
    { index, first, rows }: { index: number; first: number; rows: number },
  ): PartReport {
    const { signature, answers } = this.#options;
    const member = group.members.find((one) => one.index === index);
    const whole = group.members.length === 1;
    try {
      const own = whole ? outputs : cutOutputs(outputs, signature, { first, rows });
      if (member?.part.want !== 'answer')
        return { ok: true, output: { kind: 'tensors', rows, outputs: own } };
      const json = answers.write(own, rows, member.part.parameters);
      return { ok: true, output: { kind: 'answer', json } };
    } catch (error) {
      this.failed = true;
      return failure(isGimbalError(error) ? error : toGimbalError(error));
    }
  }
}

function failure({ code, message, fields }: GimbalError): PartReport {
  return { ok: false, code, message, fields: fields as readonly FieldError[] };
}
