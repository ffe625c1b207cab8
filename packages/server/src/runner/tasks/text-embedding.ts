import {
  type AnswerParameters,
  GimbalError,
  type TensorOutput,
  type TextSpec,
  type VersionSpec,
} from '@gimbal/core';
import { JsonWriter } from './answer/json-writer.ts';
import { writeRows } from './answer/row-answers.ts';
import { isFloatDatatype, type Numbers } from './answer/tensor-numbers.ts';
import { numbersOf } from './score-output.ts';
import type { PreparedInput, PreparedTensor, TaskAdapter } from './task.ts';
import { rowOf } from './tensor-task.ts';
import { normalise, poolTokens } from './text/pooling.ts';
import { type TextContext, TextInput } from './text/text-input.ts';

const EMBEDDING_NAME = /embed|pooled|pooler/i;

/**
 * A text in, `"embedding":[…]` out. A graph that pools inside gives [batch, width], answered as it is unless `pooling`
 * says otherwise; one that does not gives [batch, sequence, width], pooled here over the tokens that are not padding and
 * scaled to length 1 when `normalise` says so. A client that sent tensors itself has no padding known here: all count.
 */
export class TextEmbeddingTask implements TaskAdapter {
  readonly #writer = new JsonWriter();
  readonly #spec: VersionSpec;
  readonly #text: TextSpec;
  readonly #input: TextInput;
  readonly #output: number;

  constructor(spec: VersionSpec, text: TextSpec, tokenizerJson: object) {
    this.#spec = spec;
    this.#text = text;
    this.#input = new TextInput(spec.signature, text, tokenizerJson);
    this.#output = findEmbedding(spec);
  }

  prepare(bytes: Uint8Array): PreparedInput {
    return this.#input.prepare(bytes);
  }

  collate(items: readonly PreparedInput[]): readonly PreparedTensor[] {
    return this.#input.collate(items);
  }

  answer(
    outputs: readonly TensorOutput[],
    rows: number,
    _parameters: AnswerParameters,
    context: PreparedInput | undefined,
  ): Uint8Array {
    const numbers = numbersOf(this.#spec.signature, outputs, this.#output);
    const shape = outputs[this.#output]?.shape ?? [];
    const tokens = (context?.context as TextContext | undefined)?.ids.length;
    return writeRows(this.#writer, rows, (row) => {
      const embedding = this.#embed(rowOf(numbers, { row, rows }), shape, tokens);
      this.#writer.ascii('"embedding":');
      this.#writer.float32Array(embedding, 0, embedding.length);
    });
  }

  #embed(values: Numbers, shape: readonly number[], tokens: number | undefined): Numbers {
    const { pooling, normalise: scales } = this.#text;
    if (shape.length < 3 || pooling === 'none')
      return pooling === 'auto' || !scales ? values : normalise(values);
    const length = shape[1] ?? 0;
    const width = shape[2] ?? 0;
    const pooled = poolTokens({ values, width, used: Math.min(tokens ?? length, length) }, pooling);
    return scales ? normalise(pooled) : pooled;
  }
}

/** The output named like an embedding, else the first that holds floats. */
function findEmbedding(spec: VersionSpec): number {
  const { outputs } = spec.signature;
  const floats = outputs.flatMap((output, index) => (isFloatDatatype(output.datatype) ? [index] : []));
  const found = floats.find((index) => EMBEDDING_NAME.test(outputs[index]?.name ?? '')) ?? floats[0];
  if (found === undefined) {
    throw new GimbalError('UNSUPPORTED', 'Cannot answer with embeddings: the model has no output of floats');
  }
  return found;
}
