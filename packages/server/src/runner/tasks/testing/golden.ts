import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const ROOT = new URL('../../../../../../', import.meta.url);

/** Absolute path of a file of the repository. */
export function repositoryPath(path: string): string {
  return fileURLToPath(new URL(path, ROOT));
}

export function sampleBytes(path: string): Uint8Array {
  return readFileSync(repositoryPath(`tests/fixtures/samples/${path}`));
}

export interface GoldenClass {
  readonly index: number;
  readonly label: string;
  readonly probability: number;
}

export interface GoldenPicture {
  readonly expect?: 'decode' | 'refuse';
  readonly models: Readonly<Record<string, { readonly top5: readonly GoldenClass[] }>>;
}

export interface GoldenText {
  readonly name: string;
  readonly text: string;
  readonly max_length: number;
  readonly token_count: number;
  readonly input_ids?: readonly number[];
  readonly input_ids_first32?: readonly number[];
  readonly input_ids_last8?: readonly number[];
  readonly input_ids_sha256_of_comma_joined?: string;
  readonly 'all-minilm-l6-v2': { readonly first8: readonly number[]; readonly norm: number };
}

/** The parts of the samples' golden.json that tests here compare with. */
export interface Golden {
  readonly classification: Readonly<Record<string, GoldenPicture>>;
  readonly edge: Readonly<Record<string, GoldenPicture>>;
  readonly faces: Readonly<
    Record<
      string,
      {
        readonly network_size: readonly [number, number];
        readonly boxes: readonly {
          readonly box: readonly number[];
          readonly score: number;
          readonly landmarks: readonly number[];
        }[];
      }
    >
  >;
  readonly embeddings: {
    readonly pairs: readonly {
      readonly a: string;
      readonly b: string;
      readonly 'all-minilm-l6-v2': {
        readonly cosine: number;
        readonly a_first8: readonly number[];
        readonly b_first8: readonly number[];
      };
    }[];
    readonly strings: readonly GoldenText[];
  };
  readonly digits: readonly {
    readonly pixels: readonly number[];
    readonly 'digits-mlp/1': { readonly label: number; readonly probabilities: readonly number[] };
  }[];
}

export function readGolden(): Golden {
  return JSON.parse(readFileSync(repositoryPath('tests/fixtures/samples/golden.json'), 'utf8')) as Golden;
}
