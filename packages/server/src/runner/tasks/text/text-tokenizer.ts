import { GimbalError, type TextSpec } from '@gimbal/core';
import { Tokenizer } from '@huggingface/tokenizers';

/** Longer texts are refused before they are tokenised: 256 KiB are some 40,000 words. */
export const MAX_TEXT_BYTES = 256 * 1024;

/**
 * Characters tokenised at first, for each token that the model takes. Words have 5; texts of many more tokens than the
 * model takes then cost no more than short ones, since what would be cut off is never looked at.
 */
const CHARACTERS_PER_TOKEN = 16;

/** A word that says which special tokens a tokenizer puts around any text. */
const PROBE = 'a';

/** Turns UTF-8 into token ids: special tokens around it, cut to the version's `maxTokens`. */
export class TextTokenizer {
  readonly #tokenizer: Tokenizer;
  readonly #maxTokens: number;
  /** Special tokens before and after every text. */
  readonly #before: readonly number[];
  readonly #after: readonly number[];
  /** `fatal`: bytes that are not UTF-8 are an error, not replacement characters. A byte order mark is kept out. */
  readonly #decoder = new TextDecoder('utf-8', { fatal: true });

  /** `tokenizerJson` is a parsed tokenizer.json of Hugging Face; its own truncation and padding are not applied. */
  constructor(tokenizerJson: object, spec: TextSpec) {
    this.#tokenizer = new Tokenizer(tokenizerJson, {});
    this.#maxTokens = spec.maxTokens;
    const bare = this.#encode(PROBE);
    const framed = this.#tokenizer.encode(PROBE, { add_special_tokens: true }).ids;
    const at = indexOfRun(framed, bare);
    this.#before = framed.slice(0, at);
    this.#after = framed.slice(at + bare.length);
    if (this.#before.length + this.#after.length > spec.maxTokens) {
      throw new GimbalError(
        'UNSUPPORTED',
        `Cannot prepare texts: text.maxTokens has no room for the special tokens, expected at least ${
          this.#before.length + this.#after.length
        }, got ${spec.maxTokens}`,
      );
    }
  }

  /** Fails with INPUT_TOO_LARGE or INVALID_INPUT. */
  tokenize(bytes: Uint8Array): readonly number[] {
    const content = this.#contentOf(this.#decode(bytes));
    const room = this.#maxTokens - this.#before.length - this.#after.length;
    return [...this.#before, ...(content.length > room ? content.slice(0, room) : content), ...this.#after];
  }

  #decode(bytes: Uint8Array): string {
    if (bytes.length > MAX_TEXT_BYTES) {
      throw new GimbalError(
        'INPUT_TOO_LARGE',
        `Cannot read the text: it is too long, expected at most ${MAX_TEXT_BYTES} bytes, got ${bytes.length}`,
      );
    }
    try {
      return this.#decoder.decode(bytes);
    } catch (error) {
      throw new GimbalError(
        'INVALID_INPUT',
        'Cannot read the text: its bytes are not UTF-8, expected UTF-8',
        {
          fields: [{ pointer: '', expected: 'text in UTF-8', received: 'bytes that are not UTF-8' }],
          cause: error,
        },
      );
    }
  }

  /** Tokens of the text, at least as many as fit. Pieces end at white space, so no word is cut. */
  #contentOf(text: string): readonly number[] {
    for (let end = this.#maxTokens * CHARACTERS_PER_TOKEN; end < text.length; end *= 4) {
      const boundary = text.lastIndexOf(' ', end);
      const ids = boundary <= 0 ? [] : this.#encode(text.slice(0, boundary));
      if (ids.length >= this.#maxTokens) return ids;
    }
    return this.#encode(text);
  }

  #encode(text: string): readonly number[] {
    return this.#tokenizer.encode(text, { add_special_tokens: false }).ids;
  }
}

function indexOfRun(ids: readonly number[], run: readonly number[]): number {
  for (let at = 0; at + run.length <= ids.length; at += 1) {
    if (run.every((id, index) => ids[at + index] === id)) return at;
  }
  throw new GimbalError(
    'UNSUPPORTED',
    'Cannot prepare texts: the tokenizer changes texts when it frames them',
  );
}
