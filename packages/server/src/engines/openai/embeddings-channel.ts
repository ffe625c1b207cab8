import type { RemoteSpec } from '@gimbal/core';
import type { Attempt, RemoteAnswer, RemoteChannel, RemoteRequest } from '../channel.ts';
import type { HttpTransport } from '../http-transport.ts';
import { PeerFailure } from '../peer-failure.ts';
import { textElements } from '../text-elements.ts';
import { apiPath, postJson, probeModels } from './api-call.ts';

/** `POST /embeddings` of an OpenAI-like API: texts in, one vector each. All rows of a batch are one call. */
export class EmbeddingsChannel implements RemoteChannel {
  readonly #transport: HttpTransport;
  readonly #model: string;
  readonly #path: string;

  constructor(transport: HttpTransport, { model }: RemoteSpec) {
    this.#transport = transport;
    this.#model = model;
    this.#path = apiPath(transport.address);
  }

  /** The API has no way to ask: the signature is this protocol's own. */
  async describe(): Promise<undefined> {
    return undefined;
  }

  probe(attempt: Attempt): Promise<void> {
    return probeModels(this.#transport, `${this.#path}/models`, attempt);
  }

  async run({ tensors, rows }: RemoteRequest, attempt: Attempt): Promise<RemoteAnswer> {
    const input = textElements(tensors[0]?.bytes ?? new Uint8Array(0));
    const call = {
      path: `${this.#path}/embeddings`,
      document: { model: this.#model, input, encoding_format: 'float' },
    };
    const { document } = await postJson(this.#transport, call, attempt);
    const vectors = vectorsOf(document, rows);
    const width = vectors[0]?.length ?? 0;
    const floats = new Float32Array(rows * width);
    for (const [row, vector] of vectors.entries()) floats.set(vector, row * width);
    return [
      { name: 'embedding', datatype: 'FP32', shape: [rows, width], bytes: new Uint8Array(floats.buffer) },
    ];
  }

  close(): void {
    this.#transport.close();
  }
}

/** In the order of the texts, whatever the order of the answer. */
function vectorsOf(document: unknown, rows: number): readonly (readonly number[])[] {
  const { data } = (document ?? {}) as { data?: unknown };
  if (!Array.isArray(data) || data.length !== rows) throw garbage(`expected ${rows} embeddings`);
  const vectors: (readonly number[])[] = new Array(rows);
  for (const [at, one] of data.entries()) {
    const { index = at, embedding } = (one ?? {}) as { index?: unknown; embedding?: unknown };
    if (!Number.isInteger(index) || vectors[index as number] !== undefined || Number(index) >= rows) {
      throw garbage('its embeddings have no order');
    }
    if (!Array.isArray(embedding) || !embedding.every((value) => typeof value === 'number')) {
      throw garbage('an embedding is no list of numbers');
    }
    vectors[index as number] = embedding;
  }
  const width = vectors[0]?.length ?? 0;
  if (width === 0 || vectors.some((vector) => vector.length !== width)) {
    throw garbage('its embeddings are empty, or of different lengths');
  }
  return vectors;
}

function garbage(what: string): PeerFailure {
  return new PeerFailure('garbage', `the remote engine's answer can not be read: ${what}`);
}
