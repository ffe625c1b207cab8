import { readFile, stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { EXIT } from './exit-code.ts';
import { Failure } from './failure.ts';

/** Largest file or standard input that is sent. */
const MAX_INPUT_BYTES = 1024 * 1024 * 1024;
const STDIN = '-';

export interface InferInput {
  readonly name: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly contentType: string;
}

export interface InferSources {
  /** Files; `-` is standard input. */
  readonly files: readonly string[];
  readonly texts: readonly string[];
  /** JSON as written, `@file` or `-`. */
  readonly json: string | undefined;
  /** Overrides what the content looks like. */
  readonly contentType: string | undefined;
}

export interface InferParameters {
  readonly top_k?: number;
  readonly threshold?: number;
}

/** The body of a predict request. */
export interface InferBody {
  readonly body: Uint8Array<ArrayBuffer> | string | FormData;
  /** Undefined for a form, whose boundary its own encoder knows. */
  readonly contentType: string | undefined;
}

const SIGNATURES: readonly { readonly at: number; readonly bytes: string; readonly type: string }[] = [
  { at: 0, bytes: '\u00ff\u00d8\u00ff', type: 'image/jpeg' },
  { at: 0, bytes: '\u0089PNG', type: 'image/png' },
  { at: 0, bytes: 'GIF8', type: 'image/gif' },
  { at: 8, bytes: 'WEBP', type: 'image/webp' },
  { at: 4, bytes: 'ftypavif', type: 'image/avif' },
  { at: 4, bytes: 'ftyphei', type: 'image/heif' },
  { at: 0, bytes: 'BM', type: 'image/bmp' },
  { at: 0, bytes: 'II*\0', type: 'image/tiff' },
  { at: 0, bytes: 'MM\0*', type: 'image/tiff' },
];

/** Reads everything that is to be sent. Fails with exit code 2 when there is nothing or too much of it. */
export async function readInputs(
  sources: InferSources,
  { cwd, stdin }: { cwd: string; stdin: NodeJS.ReadableStream & { readonly isTTY?: boolean } },
): Promise<InferInput[]> {
  const kinds = [sources.files.length > 0, sources.texts.length > 0, sources.json !== undefined].filter(
    Boolean,
  );
  if (kinds.length === 0 && stdin.isTTY !== true) {
    return await readInputs({ ...sources, files: [STDIN] }, { cwd, stdin });
  }
  if (kinds.length !== 1) {
    throw new Failure(EXIT.usage, 'Cannot tell what to send', {
      expected: 'one kind of input: -f file, -t text, -d json, or - for standard input',
      got: kinds.length === 0 ? 'none' : 'several',
      fix: 'gimbal infer efficientnet -f cat.jpg',
    });
  }
  const texts = sources.texts.map((text) => toInput('text', Buffer.from(text), 'text/plain'));
  if (texts.length > 0) return texts;
  if (sources.json !== undefined) return [await readJson(sources.json, { cwd, stdin })];
  const inputs: InferInput[] = [];
  for (const file of sources.files) {
    const bytes = file === STDIN ? await readStream(stdin) : await readNamed(resolve(cwd, file), file);
    inputs.push(
      toInput(file === STDIN ? 'stdin' : basename(file), bytes, sources.contentType ?? sniff(bytes, file)),
    );
  }
  return inputs;
}

/** The smallest body that says it all: raw when nothing else is to be said, JSON or a form otherwise. */
export function toBody(inputs: readonly InferInput[], parameters: InferParameters): InferBody {
  const [first] = inputs;
  if (first === undefined) throw new Failure(EXIT.usage, 'Cannot send nothing');
  const hasParameters = Object.keys(parameters).length > 0;
  if (first.contentType === 'application/json') return jsonBody(first, parameters);
  if (inputs.every(({ contentType }) => contentType.startsWith('image/'))) {
    if (inputs.length === 1 && !hasParameters) return { body: first.bytes, contentType: first.contentType };
    return { body: formOf(inputs, parameters), contentType: undefined };
  }
  if (inputs.every(({ contentType }) => contentType.startsWith('text/'))) {
    if (inputs.length === 1 && !hasParameters) return { body: first.bytes, contentType: 'text/plain' };
    const texts = inputs.map(({ bytes }) => Buffer.from(bytes).toString('utf8'));
    const input = texts.length === 1 ? { input: texts[0] } : { inputs: texts };
    return {
      body: JSON.stringify({ ...input, ...withParameters(parameters) }),
      contentType: 'application/json',
    };
  }
  if (inputs.length === 1 && !hasParameters) return { body: first.bytes, contentType: first.contentType };
  throw new Failure(EXIT.usage, 'Cannot send these together', {
    expected: 'several pictures, several texts, or one raw tensor without --top-k and --threshold',
    got: inputs.map(({ name, contentType }) => `${name} (${contentType})`).join(', '),
  });
}

/** What the content looks like, then what the name says. */
export function sniff(bytes: Uint8Array, name: string): string {
  const head = Buffer.from(bytes.subarray(0, 16)).toString('latin1');
  const signature = SIGNATURES.find(({ at, bytes: begin }) => head.startsWith(begin, at));
  if (signature !== undefined) return signature.type;
  if (/\.json$/i.test(name) || looksLikeJson(bytes)) return 'application/json';
  return isText(bytes) ? 'text/plain' : 'application/octet-stream';
}

function jsonBody(input: InferInput, parameters: InferParameters): InferBody {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(input.bytes).toString('utf8'));
  } catch (error) {
    // NaN and 64-bit integers are no JSON, but the server takes them: sent as they are.
    if (Object.keys(parameters).length === 0) return { body: input.bytes, contentType: 'application/json' };
    throw new Failure(EXIT.usage, 'Cannot read the JSON', {
      where: input.name,
      expected: 'JSON',
      got: String(error),
    });
  }
  const isRequest = typeof value === 'object' && value !== null && ('input' in value || 'inputs' in value);
  if (isRequest && Object.keys(parameters).length === 0)
    return { body: input.bytes, contentType: 'application/json' };
  const request = isRequest ? (value as { parameters?: object }) : { input: value };
  const merged = withParameters({ ...('parameters' in request ? request.parameters : {}), ...parameters });
  return { body: JSON.stringify({ ...request, ...merged }), contentType: 'application/json' };
}

function formOf(inputs: readonly InferInput[], parameters: InferParameters): FormData {
  const form = new FormData();
  for (const { name, bytes, contentType } of inputs)
    form.append('image', new Blob([bytes], { type: contentType }), name);
  if (Object.keys(parameters).length > 0) form.append('parameters', JSON.stringify(parameters));
  return form;
}

function withParameters(parameters: InferParameters): { parameters?: InferParameters } {
  return Object.keys(parameters).length > 0 ? { parameters } : {};
}

async function readJson(
  written: string,
  { cwd, stdin }: { cwd: string; stdin: NodeJS.ReadableStream },
): Promise<InferInput> {
  if (written === STDIN) return toInput('stdin', await readStream(stdin), 'application/json');
  if (!written.startsWith('@')) return toInput('-d', Buffer.from(written), 'application/json');
  const file = written.slice(1);
  return toInput(basename(file), await readNamed(resolve(cwd, file), file), 'application/json');
}

async function readNamed(path: string, shown: string): Promise<Buffer> {
  try {
    const { size } = await stat(path);
    if (size > MAX_INPUT_BYTES) throw tooLong(shown, size);
    const bytes = await readFile(path);
    if (bytes.length > 0) return bytes;
  } catch (error) {
    throw error instanceof Failure ? error : unreadable(error, shown);
  }
  throw new Failure(EXIT.usage, 'Cannot send the input: the file is empty', {
    where: shown,
    expected: 'at least one byte',
    got: '0 bytes',
  });
}

function unreadable(error: unknown, shown: string): Failure {
  const { code } = error as NodeJS.ErrnoException;
  const details = { where: shown, expected: 'a readable file' };
  switch (code) {
    case 'ENOENT':
    case 'ENOTDIR':
      return new Failure(EXIT.notFound, 'Cannot read the input: there is no such file', {
        ...details,
        got: 'nothing',
        fix: 'check the name; standard input is -',
      });
    case 'EISDIR':
      return new Failure(EXIT.usage, 'Cannot read the input: it is a folder', {
        ...details,
        got: 'a folder',
        fix: 'name its files, each with -f',
      });
    case 'EACCES':
    case 'EPERM':
      return new Failure(EXIT.denied, "Cannot read the input: the file can't be opened", {
        ...details,
        got: 'no permission',
      });
    default:
      return new Failure(EXIT.failure, "Cannot read the input: the file can't be read", {
        ...details,
        got: code ?? String(error),
      });
  }
}

function tooLong(shown: string, byteLength: number): Failure {
  return new Failure(EXIT.usage, 'Cannot send the input: it is too long', {
    where: shown,
    expected: `at most ${MAX_INPUT_BYTES} bytes`,
    got: `${byteLength} bytes`,
  });
}

async function readStream(stream: NodeJS.ReadableStream): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of stream) {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    length += bytes.length;
    if (length > MAX_INPUT_BYTES) throw tooLong('standard input', length);
    chunks.push(bytes);
  }
  if (length === 0) {
    throw new Failure(EXIT.usage, 'Cannot send standard input: it is empty', {
      expected: 'one kind of input: -f file, -t text, -d json, or - for standard input',
      got: 'nothing',
      fix: 'gimbal infer efficientnet -f cat.jpg',
    });
  }
  return Buffer.concat(chunks);
}

function toInput(name: string, bytes: Uint8Array, contentType: string): InferInput {
  return { name, bytes: new Uint8Array(bytes), contentType };
}

function looksLikeJson(bytes: Uint8Array): boolean {
  const head = Buffer.from(bytes.subarray(0, 64)).toString('utf8').trimStart();
  return (head.startsWith('{') || head.startsWith('[')) && isText(bytes);
}

function isText(bytes: Uint8Array): boolean {
  const head = bytes.subarray(0, 4_096);
  if (head.includes(0)) return false;
  // A character may be cut in two at the end of the looked-at part.
  return !Buffer.from(head.subarray(0, Math.max(1, head.length - 4)))
    .toString('utf8')
    .includes('\uFFFD');
}
