import { untilAborted } from '../call/abort.ts';
import { Call } from '../call/call.ts';
import type { CallRequest, OpenAnswer } from '../call/call-request.ts';
import type { Settings } from '../client-options.ts';
import { errorOfDocument } from '../error-document.ts';
import { AnswerError, ConnectionError, DeadlineError, GimbalError } from '../errors.ts';
import { isDocument, type JsonDocument, parseDocument } from '../protocol/json-document.ts';
import { bounded, type EventParser, JsonLines, ServerSentEvents, type StreamEvent } from './event-parser.ts';

/** What streams are asked for, best first. */
export const STREAM_TYPES = 'text/event-stream, application/x-ndjson;q=0.9';

/** How OpenAI-like streams say that they are complete. */
const DONE = '[DONE]';
/** Members of an error of V2, which comes inside a stream that began well. */
const ERROR_MEMBERS = ['error', 'code', 'request_id'];

export interface StreamPlan {
  readonly settings: Settings;
  readonly request: CallRequest;
  /** The longest that a stream may be silent. */
  readonly idleMs: number;
}

/**
 * The messages of a stream as they come. Until the first has come the call is tried again like any other; after that a
 * failure ends the iteration with its error. Leaving the loop closes the connection.
 */
export async function* streamAnswer({ settings, request, idleMs }: StreamPlan): AsyncGenerator<JsonDocument> {
  const call = new Call(settings, request);
  try {
    const answer = await call.exchange(async (open) => open);
    for await (const text of textsOf(answer, { call, settings, idleMs })) {
      for (const event of text.parser.push(text.piece)) {
        if (event.data === DONE) return;
        yield chunkOf(event, answer);
      }
    }
  } finally {
    call.close();
  }
}

interface TextPlan {
  readonly call: Call;
  readonly settings: Settings;
  readonly idleMs: number;
}

async function* textsOf(
  answer: OpenAnswer,
  { call, settings, idleMs }: TextPlan,
): AsyncGenerator<{ readonly parser: EventParser; readonly piece: string }> {
  const parser = parserOf(answer);
  const { body } = answer.response;
  if (body === null) return;
  const reader = body.getReader();
  const utf8 = new TextDecoder();
  for (;;) {
    const next = await nextOf(reader, answer, { call, settings, idleMs });
    if (next.done) {
      yield { parser: ending(parser), piece: utf8.decode() };
      return;
    }
    yield { parser, piece: utf8.decode(next.value, { stream: true }) };
  }
}

/** Everything that the last piece and the end bring. */
function ending(parser: EventParser): EventParser {
  return { push: (text) => [...parser.push(text), ...parser.end()], end: () => [] };
}

async function nextOf(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  { signal, requestId, attempts }: OpenAnswer,
  { call, settings, idleMs }: TextPlan,
): Promise<Awaited<ReturnType<typeof reader.read>>> {
  const idle = new AbortController();
  const cancel = settings.ports.after(idleMs, () => idle.abort());
  const facts = { attempts, ...(requestId === undefined ? {} : { requestId }) };
  try {
    return await untilAborted(untilAborted(reader.read(), signal), idle.signal);
  } catch (thrown) {
    if (idle.signal.aborted && !signal.aborted) {
      throw new DeadlineError(
        `Cannot go on with the stream: expected a message within ${idleMs} ms, got none`,
        {
          ...facts,
          code: 'DEADLINE_EXCEEDED',
          retryable: true,
        },
      );
    }
    const error = call.endError(thrown);
    if (error instanceof GimbalError) throw error;
    throw new ConnectionError('Cannot go on with the stream: the connection broke', {
      ...facts,
      code: 'UNREACHABLE',
      retryable: true,
      cause: thrown,
    });
  } finally {
    cancel();
  }
}

function parserOf({ response }: OpenAnswer): EventParser {
  const type = response.headers.get('content-type') ?? '';
  const [essence = ''] = type.toLowerCase().split(';');
  switch (essence.trim()) {
    case 'text/event-stream':
      return new ServerSentEvents();
    case 'application/x-ndjson':
    case 'application/ndjson':
    case 'application/jsonl':
      return new JsonLines();
    case 'application/json':
      return new WholeDocument();
    default:
      throw new AnswerError(`Cannot read the stream: expected ${STREAM_TYPES}, got ${JSON.stringify(type)}`, {
        code: 'BAD_ANSWER',
      });
  }
}

/** A model that does not stream answers with one document: a stream of one. */
class WholeDocument implements EventParser {
  #text = '';

  push(text: string): StreamEvent[] {
    bounded(this.#text.length + text.length);
    this.#text += text;
    return [];
  }

  end(): StreamEvent[] {
    return [{ event: 'message', data: this.#text }];
  }
}

/** A message, or the error that it tells. */
function chunkOf({ event, data }: StreamEvent, { requestId, attempts }: OpenAnswer): JsonDocument {
  const chunk = parseDocument(data);
  const error = errorIn(event, chunk);
  if (error) throw errorOfDocument(error, { requestId, attempts });
  return chunk;
}

function errorIn(event: string, chunk: JsonDocument): JsonDocument | undefined {
  const { error } = chunk;
  if (isDocument(error) && typeof error.code === 'string') return error;
  if (event === 'error') return chunk;
  const isV2 = typeof error === 'string' && Object.keys(chunk).every((name) => ERROR_MEMBERS.includes(name));
  return isV2 ? chunk : undefined;
}
