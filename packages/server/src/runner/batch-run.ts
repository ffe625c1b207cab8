import { performance } from 'node:perf_hooks';
import {
  isGimbalError,
  type Signature,
  type TensorSpec,
  toGimbalError,
  type VersionSpec,
} from '@gimbal/core';
import type { PartFailure, PartResult } from '../transport/part-result.ts';
import type { StageTimes } from '../transport/report-frame.ts';
import type { RunPart } from '../transport/run-frame.ts';
import { BrokenElements, rowsOf, type TensorView } from '../transport/tensor-rows.ts';
import { type BatchGroup, type BatchMember, groupMembers, groupOf } from './batch-group.ts';
import { InputBatch, misfit, type PartTensors } from './input-batch.ts';
import type { ModelSession } from './model-session.ts';
import { hasNonFinite } from './non-finite.ts';
import type { OnnxValue } from './onnx-binding.ts';
import { OutputRows, outputInvalid } from './output-rows.ts';
import { runFailure } from './run-failure.ts';
import type { StreamSource } from './stream-source.ts';
import type { PreparedInput, TaskAdapter } from './tasks/task.ts';

/** A variant that is ready to run. */
export interface LoadedModel {
  readonly spec: VersionSpec;
  readonly session: ModelSession;
  readonly signature: Signature;
  readonly adapter: TaskAdapter;
  /** Of a model that streams: its runs are streams then, and the session serves for nothing but its warm-up. */
  readonly source?: StreamSource;
}

export interface BatchOutcome {
  /** In the order of the parts. */
  readonly results: readonly PartResult[];
  readonly times: StageTimes;
}

type PreparedInputs = readonly (PreparedInput | undefined)[];

/** A part that no group took; it would be a bug. */
const NO_RESULT: PartFailure = {
  code: 'INTERNAL',
  message: 'Cannot answer: the input was not run',
  fields: [],
};

/**
 * Runs batches on a model, one at a time, each part isolated: an input that can't be read or that the model refuses
 * fails alone. A failed run is repeated in halves until the culprits are found, since one bad row fails a whole run of
 * onnxruntime.
 */
export class BatchRun {
  readonly #model: LoadedModel;
  readonly #inputs: InputBatch;
  readonly #logError: (error: unknown) => void;
  #results: (PartResult | undefined)[] = [];
  #preprocessMs = 0;
  #inferMs = 0;
  #postprocessMs = 0;

  constructor(model: LoadedModel, logError: (error: unknown) => void) {
    this.#model = model;
    this.#inputs = new InputBatch(model.signature);
    this.#logError = logError;
  }

  /** A promise only when inputs must be decoded by a library that works in threads of its own. */
  run(parts: readonly RunPart[]): BatchOutcome | Promise<BatchOutcome> {
    this.#results = new Array(parts.length).fill(undefined);
    this.#preprocessMs = 0;
    this.#inferMs = 0;
    this.#postprocessMs = 0;
    const started = performance.now();
    const inputs = this.#prepare(parts);
    if (inputs instanceof Promise) {
      return inputs.then((prepared) => this.#runPrepared(parts, prepared, started));
    }
    return this.#runPrepared(parts, inputs, started);
  }

  /** Decodes all encoded parts, together where the library allows. A failure becomes the part's result. */
  #prepare(parts: readonly RunPart[]): PreparedInputs | Promise<PreparedInputs> | undefined {
    if (!parts.some(({ encoded }) => encoded)) return undefined;
    let waits = false;
    const inputs = parts.map((part, index) => {
      const input = part.encoded ? this.#prepareOne(part, index) : undefined;
      waits ||= input instanceof Promise;
      return input;
    });
    return waits ? Promise.all(inputs) : (inputs as PreparedInputs);
  }

  #prepareOne(part: RunPart, index: number): PreparedInput | undefined | Promise<PreparedInput | undefined> {
    const failed = (error: unknown): undefined => this.#fail(index, this.#failureOf(error));
    try {
      const input = this.#model.adapter.prepare((part.tensors[0] as TensorView).bytes);
      return input instanceof Promise ? input.catch(failed) : input;
    } catch (error) {
      return failed(error);
    }
  }

  #runPrepared(parts: readonly RunPart[], inputs: PreparedInputs | undefined, started: number): BatchOutcome {
    const members: BatchMember[] = [];
    for (let index = 0; index < parts.length; index += 1) {
      const member = this.#member(parts[index] as RunPart, index, inputs?.[index]);
      if (member) members.push(member);
    }
    const { adapter, signature } = this.#model;
    const groups = groupMembers(members, signature, adapter.collate !== undefined);
    this.#preprocessMs += performance.now() - started;
    for (const group of groups) this.#runGroup(group);
    return {
      results: this.#results.map((result) => result ?? { kind: 'failed', failure: NO_RESULT }),
      times: {
        preprocessMs: this.#preprocessMs,
        inferMs: this.#inferMs,
        postprocessMs: this.#postprocessMs,
      },
    };
  }

  #member(part: RunPart, index: number, prepared: PreparedInput | undefined): BatchMember | undefined {
    if (part.encoded) return prepared && { index, part, rows: 1, tensors: prepared.tensors, prepared };
    const { signature } = this.#model;
    let { tensors } = part;
    try {
      if (part.sliced) tensors = sliceRows(part, signature);
    } catch (error) {
      if (!(error instanceof BrokenElements)) throw error;
      return this.#fail(index, invalidInput(error.message));
    }
    const wrong = misfit(tensors, signature);
    if (wrong !== undefined) return this.#fail(index, invalidInput(wrong));
    const rows = signature.batchAxis === 'dynamic' ? (tensors[0]?.shape[0] ?? 1) : part.rows;
    return { index, part, rows, tensors, prepared: undefined };
  }

  #runGroup(group: BatchGroup): void {
    const outputs = this.#infer(group);
    if (!outputs) return;
    const started = performance.now();
    let first = 0;
    for (const member of group.members) {
      this.#finish(member, outputs, first);
      first += member.rows;
    }
    this.#postprocessMs += performance.now() - started;
  }

  /** Undefined when the run failed: the group has then been run in halves, or its only part is the culprit. */
  #infer(group: BatchGroup): OutputRows | undefined {
    const { session, signature } = this.#model;
    const started = performance.now();
    let ran = started;
    let failure: unknown;
    try {
      const feeds = this.#inputs.feeds(this.#tensorsOf(group), group.rows);
      ran = performance.now();
      const values: Readonly<Record<string, OnnxValue>> = session.run(feeds);
      return new OutputRows(signature, values, group.rows);
    } catch (error) {
      failure = error;
    } finally {
      this.#preprocessMs += ran - started;
      this.#inferMs += performance.now() - ran;
    }
    this.#split(group, failure);
    return undefined;
  }

  #tensorsOf({ members, collated }: BatchGroup): readonly PartTensors[] {
    const { adapter } = this.#model;
    if (!collated || !adapter.collate) return members.map(({ tensors }) => tensors);
    return [adapter.collate(members.map(({ prepared }) => prepared as PreparedInput))];
  }

  #split({ members, collated }: BatchGroup, error: unknown): void {
    const only = members[0] as BatchMember;
    if (members.length === 1) {
      const { signature } = this.#model;
      this.#fail(only.index, isGimbalError(error) ? this.#failureOf(error) : runFailure(error, signature));
      return;
    }
    const middle = members.length >> 1;
    this.#runGroup(groupOf(members.slice(0, middle), collated));
    this.#runGroup(groupOf(members.slice(middle), collated));
  }

  #finish({ part, index, rows, prepared, tensors }: BatchMember, whole: OutputRows, first: number): void {
    const { adapter, spec } = this.#model;
    try {
      const outputs = whole.cut(first, rows);
      if (part.want === 'tensors') {
        this.#results[index] = { kind: 'tensors', rows, outputs };
        return;
      }
      const broken = spec.nonFiniteOutputs === 'error' ? whole.firstNonFinite(outputs) : undefined;
      if (broken !== undefined) {
        const given = this.#nonFiniteInput(tensors);
        if (given !== undefined) {
          this.#fail(
            index,
            invalidInput(`the input "${given}" has NaN or Infinity in it, and so has the output`),
          );
          return;
        }
        throw outputInvalid(`the output "${broken}" has NaN or Infinity in it`);
      }
      const json = adapter.answer(outputs, rows, part.parameters, prepared);
      this.#results[index] = { kind: 'answer', json };
    } catch (error) {
      this.#fail(index, this.#failureOf(error));
    }
  }

  /** A model that gives NaN for NaN is right: the input is at fault. */
  #nonFiniteInput(tensors: PartTensors): string | undefined {
    return this.#model.signature.inputs.find(({ datatype }, index) => {
      const tensor = tensors[index];
      return tensor !== undefined && hasNonFinite(tensor, datatype);
    })?.name;
  }

  #failureOf(error: unknown): PartFailure {
    if (!isGimbalError(error)) this.#logError(error);
    const { code, message, fields } = toGimbalError(error);
    return { code, message, fields };
  }

  #fail(index: number, failure: PartFailure): undefined {
    this.#results[index] = { kind: 'failed', failure };
    return undefined;
  }
}

function sliceRows(part: RunPart, { inputs }: Signature): PartTensors {
  return part.tensors.map((tensor, index) => {
    const { datatype } = inputs[index] as TensorSpec;
    return rowsOf(tensor, datatype, { first: part.firstRow, rows: part.rows });
  });
}

function invalidInput(wrong: string): PartFailure {
  return { code: 'INVALID_INPUT', message: `Cannot run the model on this input: ${wrong}`, fields: [] };
}
