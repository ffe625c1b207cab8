import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { Derivation, TextSpec } from '@gimbal/core';
import type { VersionFile } from '@gimbal/core/config';

/** A tokenizer.json of many languages has tens of megabytes; what matters here stands before its vocabulary. */
const HEAD_BYTES = 64 * 1024;
const USUAL_MAX_TOKENS = 512;

/** "No limit" is written as 10^30 in tokenizer_config.json. */
const LARGEST_BELIEVABLE = 1_048_576;

export const TOKENIZER_FILE = 'tokenizer.json';

type DeclaredText = NonNullable<VersionFile['text']>;

/** The declared text preprocessing, completed from the files that Hugging Face puts beside a model. */
export async function completeText(
  declared: DeclaredText,
  folder: string,
): Promise<{ text: TextSpec; derivations: readonly Derivation[] }> {
  const derivations: Derivation[] = [];
  const derive = <T>(key: keyof TextSpec, value: T, because: string): T => {
    derivations.push({ field: `text.${key}`, value: JSON.stringify(value), because });
    return value;
  };
  const tokenizer = declared.tokenizer ?? derive('tokenizer', TOKENIZER_FILE, 'the file is there');
  const limit = declared.maxTokens === undefined ? await findMaxTokens(folder) : undefined;
  const pad = declared.padId === undefined ? await findPadId(join(folder, tokenizer)) : undefined;
  const text: TextSpec = {
    tokenizer,
    maxTokens:
      declared.maxTokens ??
      (limit === undefined
        ? derive('maxTokens', USUAL_MAX_TOKENS, 'guess: nothing beside the model says it')
        : derive('maxTokens', limit.tokens, limit.because)),
    padId:
      declared.padId ??
      (pad === undefined
        ? derive('padId', 0, 'guess: the tokenizer names no padding token')
        : derive('padId', pad, 'the padding token of the tokenizer')),
    pooling: declared.pooling ?? derive('pooling', 'auto', 'only where the output still has a sequence axis'),
    normalise:
      declared.normalise ?? derive('normalise', true, 'sentence embeddings are compared by their angle'),
  };
  return { text, derivations };
}

async function findMaxTokens(folder: string): Promise<{ tokens: number; because: string } | undefined> {
  const sources = [
    ['sentence_bert_config.json', 'max_seq_length'],
    ['tokenizer_config.json', 'model_max_length'],
    ['config.json', 'max_position_embeddings'],
  ] as const;
  for (const [file, key] of sources) {
    const tokens = numberIn(await readHead(join(folder, file)), key);
    if (tokens !== undefined && tokens >= 2 && tokens <= LARGEST_BELIEVABLE) {
      return { tokens, because: `${key} in ${file}` };
    }
  }
  return undefined;
}

/** From the tokenizer's own padding, else from the token that is usually called so. */
async function findPadId(path: string): Promise<number | undefined> {
  const head = await readHead(path);
  const declared = numberIn(head, 'pad_id');
  if (declared !== undefined) return declared;
  const token = /\{[^{}]*"id"\s*:\s*(\d{1,9})[^{}]*"content"\s*:\s*"(?:\[PAD\]|<pad>|<\|pad\|>)"/.exec(head);
  return token?.[1] === undefined ? undefined : Number(token[1]);
}

function numberIn(json: string, key: string): number | undefined {
  const match = new RegExp(`"${key}"\\s*:\\s*(\\d{1,9})[\\s,}]`).exec(json);
  return match?.[1] === undefined ? undefined : Number(match[1]);
}

/** "" when the file is not there. */
async function readHead(path: string): Promise<string> {
  try {
    const file = await open(path, 'r');
    try {
      const bytes = Buffer.alloc(HEAD_BYTES);
      const { bytesRead } = await file.read(bytes, 0, HEAD_BYTES, 0);
      return bytes.toString('utf8', 0, bytesRead);
    } finally {
      await file.close();
    }
  } catch {
    return '';
  }
}
