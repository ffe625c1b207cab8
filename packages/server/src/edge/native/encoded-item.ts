import { type GimbalError, type JsonScan, jsonPointerAt, nearestName } from '@gimbal/core';
import { quoted } from '../front/call-headers.ts';
import { refuseField } from './field-refusal.ts';
import type { ReadyItem } from './item.ts';
import type { ItemMemory } from './item-memory.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Members that an image or text may be wrapped in. */
const IMAGE_MEMBERS = ['image', 'image_base64'];
const TEXT_MEMBERS = ['text'];

const IMAGE_EXPECTED = 'an encoded image as a base64 string or a data URI';

/** A longer prefix is no data URI. */
const MAX_DATA_URI_HEAD = 200;

export function readImageItem(scan: JsonScan, memory: ItemMemory): ReadyItem {
  return readWrapped(scan, IMAGE_MEMBERS, () => readBase64(scan, memory));
}

export function readTextItem(scan: JsonScan, memory: ItemMemory): ReadyItem {
  return readWrapped(scan, TEXT_MEMBERS, () => {
    if (scan.next() !== QUOTE) throw scan.kindError('a text');
    return textItem(scan.string(), memory);
  });
}

export function textItem(text: string, memory: ItemMemory): ReadyItem {
  const block = memory.reserve(Buffer.byteLength(text));
  bufferOf(block.bytes).write(text, 'utf8');
  return { ok: true, input: { kind: 'encoded', span: block.span }, rows: 1 };
}

/** The value itself, or an object with it as the only member. */
function readWrapped(scan: JsonScan, members: readonly string[], read: () => ReadyItem): ReadyItem {
  if (scan.kind() !== 'object') return read();
  const start = scan.at;
  let item: ReadyItem | undefined;
  scan.openObject();
  for (let key = scan.nextKey(); key !== undefined; key = scan.nextKey()) {
    if (!members.includes(key) || item) {
      const near = nearestName(key, members);
      throw refuseField('use the input', {
        pointer: jsonPointerAt(scan.bytes, scan.at),
        expected: `an object with "${members[0]}" only`,
        received: `the member ${quoted(key)}`,
        ...(near === undefined || item ? {} : { hint: `did you mean "${near}"?` }),
      });
    }
    item = read();
  }
  if (item) return item;
  throw refuseField('use the input', {
    pointer: jsonPointerAt(scan.bytes, start),
    expected: `an object with "${members[0]}"`,
    received: 'an empty object',
  });
}

/** Decodes the string ahead straight into arena memory. */
function readBase64(scan: JsonScan, memory: ItemMemory): ReadyItem {
  if (scan.next() !== QUOTE) throw scan.kindError(IMAGE_EXPECTED);
  const pointerAt = scan.at;
  const text = plainString(scan);
  const refused = (received: string, hint?: string): GimbalError =>
    refuseField('read the image', {
      pointer: jsonPointerAt(scan.bytes, pointerAt),
      expected: IMAGE_EXPECTED,
      received,
      ...(hint === undefined ? {} : { hint }),
    });
  if (text.startsWith('http://') || text.startsWith('https://')) {
    throw refused('a URL', 'URLs are not fetched: send the bytes');
  }
  const encoded = withoutDataUriHead(text);
  if (encoded === undefined) throw refused('a data URI without ";base64,"');
  if (encoded.length === 0) throw refused('an empty string');
  const byteLength = decodedLength(encoded);
  const block = memory.reserve(byteLength);
  // Node passes over what is not base64, so that fewer bytes come out than the length promises.
  const written = bufferOf(block.bytes).write(encoded, 'base64');
  if (written !== byteLength || byteLength === 0) throw refused('a string that is not base64');
  return { ok: true, input: { kind: 'encoded', span: block.span }, rows: 1 };
}

/** The string ahead. Megabytes of base64 have no escapes: they are cut out by two searches instead of a scan. */
function plainString(scan: JsonScan): string {
  const { bytes } = scan;
  const start = scan.at + 1;
  const end = bytes.indexOf(QUOTE, start);
  if (end < 0) return scan.string();
  const view = bytes.subarray(start, end);
  if (view.includes(BACKSLASH)) return scan.string();
  scan.at = end + 1;
  return bufferOf(view).toString('latin1');
}

function withoutDataUriHead(text: string): string | undefined {
  if (!text.startsWith('data:')) return text;
  const comma = text.indexOf(',');
  if (comma < 0 || comma > MAX_DATA_URI_HEAD || !text.slice(0, comma).endsWith(';base64')) return undefined;
  return text.slice(comma + 1);
}

function decodedLength(encoded: string): number {
  let length = encoded.length;
  if (encoded.endsWith('==')) length -= 2;
  else if (encoded.endsWith('=')) length -= 1;
  return Math.floor((length * 3) / 4);
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
