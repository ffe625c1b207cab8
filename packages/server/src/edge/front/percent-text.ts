import { GimbalError } from '@gimbal/core';

const PERCENT = 0x25;
const PLUS = 0x2b;

/** Members of a query that are looked at. */
const MAX_QUERY_MEMBERS = 100;

/** A path segment or query part, percent-decoded. `where` names it in the error. */
export function percentDecoded(text: string, where: string): string {
  if (!has(text, PERCENT)) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    throw new GimbalError(
      'MALFORMED_REQUEST',
      `Cannot read the ${where}: its percent-encoding is broken, expected "%" and two hexadecimal digits of UTF-8`,
    );
  }
}

/** A query as a map; of a name that comes twice the last value counts. */
export function queryOf(query: string): ReadonlyMap<string, string> {
  const members = new Map<string, string>();
  if (query === '') return members;
  const parts = query.split('&', MAX_QUERY_MEMBERS + 1);
  if (parts.length > MAX_QUERY_MEMBERS) {
    throw new GimbalError(
      'MALFORMED_REQUEST',
      `Cannot read the query: expected at most ${MAX_QUERY_MEMBERS} members`,
    );
  }
  for (const part of parts) {
    if (part === '') continue;
    const equals = part.indexOf('=');
    const name = equals < 0 ? part : part.slice(0, equals);
    const value = equals < 0 ? '' : part.slice(equals + 1);
    members.set(queryPart(name), queryPart(value));
  }
  return members;
}

function queryPart(text: string): string {
  return percentDecoded(has(text, PLUS) ? text.replaceAll('+', ' ') : text, 'query');
}

function has(text: string, wanted: number): boolean {
  for (let index = 0; index < text.length; index += 1) {
    if (text.charCodeAt(index) === wanted) return true;
  }
  return false;
}
