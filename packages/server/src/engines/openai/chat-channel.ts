import type { RemoteSpec } from '@gimbal/core';
import type { Attempt, RemoteAnswer, RemoteChannel, RemoteRequest } from '../channel.ts';
import type { HttpTransport } from '../http-transport.ts';
import { PeerFailure } from '../peer-failure.ts';
import { textElements, textTensor } from '../text-elements.ts';
import { apiPath, postJson, probeModels } from './api-call.ts';

/**
 * `POST /chat/completions` of an OpenAI-like API. The input `text_input` is either what the user says, or the whole request
 * as a JSON object with `messages`, which is passed on with the model's name put in and streaming off. Outputs:
 * `text_output`, the first choice's words, and `response`, the answer as it came.
 */
export class ChatChannel implements RemoteChannel {
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

  async run({ tensors }: RemoteRequest, attempt: Attempt): Promise<RemoteAnswer> {
    const [text = ''] = textElements(tensors[0]?.bytes ?? new Uint8Array(0));
    const request = requestOf(text);
    const call = {
      path: `${this.#path}/chat/completions`,
      document: { ...request, model: this.#model, stream: false },
    };
    const { document, body } = await postJson(this.#transport, call, attempt);
    return [
      {
        name: 'text_output',
        datatype: 'BYTES',
        shape: [1],
        bytes: textTensor([Buffer.from(wordsOf(document))]),
      },
      { name: 'response', datatype: 'BYTES', shape: [1], bytes: textTensor([body]) },
    ];
  }

  close(): void {
    this.#transport.close();
  }
}

function requestOf(text: string): Record<string, unknown> {
  if (text.trimStart().startsWith('{')) {
    try {
      const document = JSON.parse(text) as Record<string, unknown>;
      if (Array.isArray(document.messages)) return document;
    } catch {
      // Words that begin with a brace are words.
    }
  }
  return { messages: [{ role: 'user', content: text }] };
}

/** Empty where the model answers with a call of a tool. */
function wordsOf(document: unknown): string {
  const { choices } = (document ?? {}) as { choices?: unknown };
  if (!Array.isArray(choices) || choices.length === 0) {
    throw new PeerFailure('garbage', "the remote engine's answer can not be read: it has no choices");
  }
  const { message } = (choices[0] ?? {}) as { message?: { content?: unknown } };
  return typeof message?.content === 'string' ? message.content : '';
}
