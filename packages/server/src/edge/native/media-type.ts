import { GimbalError } from '@gimbal/core';

/** A Content-Type header, taken apart: names in lower case. */
export interface MediaType {
  readonly essence: string;
  readonly parameters: ReadonlyMap<string, string>;
}

const NO_PARAMETERS: ReadonlyMap<string, string> = new Map();

/** Parameters that are looked at. */
const MAX_PARAMETERS = 16;

export function parseMediaType(header: string): MediaType {
  const semicolon = header.indexOf(';');
  if (semicolon < 0) return { essence: header.trim().toLowerCase(), parameters: NO_PARAMETERS };
  return {
    essence: header.slice(0, semicolon).trim().toLowerCase(),
    parameters: parseParameters(header.slice(semicolon)),
  };
}

/** `; name=value; name="quoted \" value"`: those of Content-Type and Content-Disposition alike. */
export function parseParameters(text: string): ReadonlyMap<string, string> {
  const parameters = new Map<string, string>();
  let at = 0;
  while (at < text.length && parameters.size < MAX_PARAMETERS) {
    const semicolon = text.indexOf(';', at);
    if (semicolon < 0) break;
    const equals = text.indexOf('=', semicolon);
    if (equals < 0) break;
    const name = text
      .slice(semicolon + 1, equals)
      .trim()
      .toLowerCase();
    const { value, end } = parameterValue(text, equals + 1);
    if (!parameters.has(name)) parameters.set(name, value);
    at = end;
  }
  return parameters;
}

/** Text bodies are UTF-8 here, and what is ASCII is UTF-8. */
export function requireUtf8({ essence, parameters }: MediaType): void {
  const charset = parameters.get('charset')?.toLowerCase();
  if (charset === undefined || charset === 'utf-8' || charset === 'utf8' || charset === 'us-ascii') return;
  throw new GimbalError(
    'UNSUPPORTED_MEDIA_TYPE',
    `Cannot read the ${essence} body: expected charset utf-8, got ${JSON.stringify(charset.slice(0, 40))}`,
  );
}

function parameterValue(text: string, from: number): { value: string; end: number } {
  let at = from;
  while (text[at] === ' ' || text[at] === '\t') at += 1;
  if (text[at] !== '"') {
    const semicolon = text.indexOf(';', at);
    const end = semicolon < 0 ? text.length : semicolon;
    return { value: text.slice(at, end).trim(), end };
  }
  let value = '';
  at += 1;
  while (at < text.length && text[at] !== '"') {
    if (text[at] === '\\' && (text[at + 1] === '"' || text[at + 1] === '\\')) at += 1;
    value += text[at];
    at += 1;
  }
  return { value, end: at + 1 };
}
