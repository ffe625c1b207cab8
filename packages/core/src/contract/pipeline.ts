import type { Datatype } from '../tensor/datatype.ts';
import type { StageTimings } from './work.ts';

/** What a pipeline is given: one encoded picture, one text, or named tensors. */
export type PipelineInput = 'image' | 'text' | 'tensors';

/** A place in the values of a run: `input`, `item`, or a step's name, and the way inside: `faces.predictions[0].bbox`. */
export interface ValueReference {
  readonly root: 'input' | 'item' | 'step';
  /** "" unless the root is a step. */
  readonly step: string;
  /** Members by name, elements by index; `length` at the end counts. */
  readonly path: readonly (string | number)[];
  /** As it was written. */
  readonly text: string;
}

export const COMPARISONS = ['==', '!=', '<=', '>=', '<', '>'] as const;
export type Comparison = (typeof COMPARISONS)[number];

export interface ConditionTerm {
  readonly value: ValueReference;
  readonly comparison: Comparison;
  readonly operand: number | string | boolean | null;
}

/** Holds when every term does; a term about a value that is not there does not. */
export interface Condition {
  readonly terms: readonly ConditionTerm[];
  readonly text: string;
}

/** Runs a model, or another pipeline. */
export interface ModelAction {
  readonly kind: 'model';
  readonly model: string;
  /** Undefined: the version that requests without one go to, each time the step starts. */
  readonly version: string | undefined;
  /** An encoded picture or a text; or the only tensor. */
  readonly input: ValueReference | undefined;
  /** Tensors by the model's own names of its inputs; empty when `input` is there. */
  readonly inputs: readonly { readonly name: string; readonly value: ValueReference }[];
  readonly topK: number | undefined;
  readonly threshold: number | undefined;
}

/** Cuts boxes out of a picture. */
export interface CropAction {
  readonly kind: 'crop';
  readonly image: ValueReference;
  /** A list of objects with a `bbox`, or of boxes: [left, top, right, bottom] in pixels of the upright picture. */
  readonly boxes: ValueReference;
  /** Widens each box on every side by this share of its own width and height. */
  readonly marginRatio: number;
  readonly bound: ItemBound;
}

export type PipelineAction = ModelAction | CropAction;

/** How many items are taken, and what becomes of a list that has more: it fails, or the rest is left out. */
export interface ItemBound {
  readonly maxItems: number;
  readonly tooMany: 'fail' | 'cut';
}

/** The same action for each item of a list. */
export interface EachSpec {
  /** Crops, the rows of a tensor, or a list of an answer. */
  readonly items: ValueReference;
  readonly bound: ItemBound;
  /** Items at once. */
  readonly concurrency: number;
  /** `fail`: the first item that fails ends the run; `skip`: it is answered with its error. */
  readonly onError: 'fail' | 'skip';
}

/** One way that a step may go. */
export interface StepCase {
  /** Undefined: always. */
  readonly when: Condition | undefined;
  readonly action: PipelineAction;
  /** Where it stands in the file, for messages. */
  readonly at: readonly (string | number)[];
}

export interface PipelineStepSpec {
  readonly name: string;
  /** Steps whose values it reads; it starts when all have ended. */
  readonly needs: readonly string[];
  /** The first whose condition holds is run; when none does the step is left out, and its value is null. */
  readonly cases: readonly StepCase[];
  readonly each: EachSpec | undefined;
}

/** What a version that is composed of other models does. */
export interface PipelineSpec {
  readonly takes: PipelineInput;
  /** Each after those that it needs. */
  readonly steps: readonly PipelineStepSpec[];
  readonly outputs: readonly { readonly name: string; readonly value: ValueReference }[];
  /** Declared input tensors; empty unless it takes tensors. */
  readonly inputs: readonly PipelineTensor[];
}

export interface PipelineTensor {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: readonly number[];
}

/** What became of one step of a run, as the answer tells it. */
export interface StepReport {
  readonly name: string;
  readonly state: 'done' | 'skipped' | 'failed';
  /** Undefined for steps that ran nothing. */
  readonly ran:
    | {
        readonly model: string;
        readonly version: string;
        readonly variant: string;
        /** The lowest of its runs'. */
        readonly rung: number;
        /** Sums over its runs, which may have gone on at the same time. */
        readonly timings: StageTimings;
      }
    | undefined;
  /** From its start to its end, as the clock of the host saw it. */
  readonly totalMs: number;
  /** Of a fan-out. */
  readonly items: { readonly count: number; readonly failed: number } | undefined;
}
