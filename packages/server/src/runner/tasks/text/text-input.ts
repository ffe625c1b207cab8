import type { Signature, TextSpec } from '@gimbal/core';
import type { PreparedInput, PreparedTensor } from '../task.ts';
import { TextTokenizer } from './text-tokenizer.ts';
import { TokenTensors } from './token-tensors.ts';

/** What batching and pooling must know of a text: its token ids, special ones included. */
export interface TextContext {
  readonly ids: readonly number[];
}

/** Turns texts into token tensors, alone and in batches. */
export class TextInput {
  readonly #tokenizer: TextTokenizer;
  readonly #tensors: TokenTensors;

  constructor(signature: Signature, spec: TextSpec, tokenizerJson: object) {
    this.#tokenizer = new TextTokenizer(tokenizerJson, spec);
    this.#tensors = new TokenTensors(signature, spec.padId);
  }

  prepare(bytes: Uint8Array): PreparedInput & { readonly context: TextContext } {
    const ids = this.#tokenizer.tokenize(bytes);
    return { tensors: this.#tensors.layOut([ids]), context: { ids } };
  }

  collate(items: readonly PreparedInput[]): readonly PreparedTensor[] {
    const only = items[0];
    if (items.length === 1 && only !== undefined) return only.tensors;
    return this.#tensors.layOut(items.map((item) => (item.context as TextContext).ids));
  }
}
