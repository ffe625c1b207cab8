import { GimbalError } from '@gimbal/core';
import { parseParameters } from './media-type.ts';

/** One part of a form; `content` is a view of the body. */
export interface FormPart {
  readonly name: string;
  readonly fileName: string | undefined;
  readonly contentType: string | undefined;
  readonly content: Uint8Array;
}

export interface FormLimits {
  readonly maxParts: number;
}

/** RFC 2046, section 5.1.1. */
const MAX_BOUNDARY_LENGTH = 70;

const MAX_PART_HEAD_BYTES = 8 * 1024;

const HEAD_END = Buffer.from('\r\n\r\n');

/**
 * Parts of a whole multipart/form-data body (RFC 7578). The body is already in memory, so that each part is found by
 * two searches and nothing is copied.
 */
export function parseForm(body: Uint8Array, boundary: string, limits: FormLimits): readonly FormPart[] {
  if (boundary.length === 0 || boundary.length > MAX_BOUNDARY_LENGTH) {
    throw malformed(`expected a boundary of 1 to ${MAX_BOUNDARY_LENGTH} characters in Content-Type`);
  }
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1');
  const parts: FormPart[] = [];
  let at = firstPart(bytes, delimiter);
  while (!isClosing(bytes, at)) {
    if (parts.length === limits.maxParts) throw tooManyParts(limits.maxParts);
    const start = afterPadding(bytes, at);
    // Headers may be none at all: then the blank line follows the delimiter at once.
    const headEnd = bytes.indexOf(HEAD_END, start - 2);
    if (headEnd < 0 || headEnd - start > MAX_PART_HEAD_BYTES) throw malformed('expected the head of a part');
    const contentStart = headEnd + HEAD_END.length;
    const end = bytes.indexOf(delimiter, contentStart - 2);
    if (end < 0) throw malformed('expected the closing boundary, got the end of the body');
    parts.push(
      partOf(
        bytes.toString('utf8', start, headEnd),
        body.subarray(contentStart, Math.max(contentStart, end)),
      ),
    );
    at = end + delimiter.length;
  }
  return parts;
}

/** Just behind the first delimiter; text before it is to be ignored. */
function firstPart(bytes: Buffer, delimiter: Buffer): number {
  const opening = delimiter.subarray(2);
  if (bytes.subarray(0, opening.length).equals(opening)) return opening.length;
  const at = bytes.indexOf(delimiter);
  if (at < 0) throw malformed('expected the boundary that Content-Type names, got none');
  return at + delimiter.length;
}

function isClosing(bytes: Buffer, at: number): boolean {
  return bytes[at] === 0x2d && bytes[at + 1] === 0x2d;
}

/** White space may follow a delimiter on its line. */
function afterPadding(bytes: Buffer, from: number): number {
  let at = from;
  while (bytes[at] === 0x20 || bytes[at] === 0x09) at += 1;
  if (bytes[at] !== 0x0d || bytes[at + 1] !== 0x0a) throw malformed('expected a line break after a boundary');
  return at + 2;
}

function partOf(head: string, content: Uint8Array): FormPart {
  let name: string | undefined;
  let fileName: string | undefined;
  let contentType: string | undefined;
  for (const line of head.split('\r\n')) {
    const colon = line.indexOf(':');
    const header = line.slice(0, Math.max(0, colon)).trim().toLowerCase();
    const value = line.slice(colon + 1).trim();
    if (header === 'content-disposition') {
      const parameters = parseParameters(value.slice(Math.max(0, value.indexOf(';'))));
      name = parameters.get('name');
      fileName = parameters.get('filename') ?? parameters.get('filename*');
    } else if (header === 'content-type') contentType = value.toLowerCase();
  }
  if (name === undefined) throw malformed('expected a name in the Content-Disposition of each part');
  return { name, fileName, contentType, content };
}

function tooManyParts(maxParts: number): GimbalError {
  return new GimbalError('INPUT_TOO_LARGE', `Cannot read the form: expected at most ${maxParts} parts`);
}

function malformed(expectation: string): GimbalError {
  return new GimbalError('MALFORMED_REQUEST', `Cannot read the form: ${expectation}`);
}
