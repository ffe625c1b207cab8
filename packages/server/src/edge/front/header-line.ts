const FIRST_PRINTABLE = 0x20;
const DELETE = 0x7f;

/** One header line. A value with control characters or anything past ASCII is percent-encoded: it can't end the line. */
export function headerLine(name: string, value: string): string {
  return `${name}: ${headerValue(value)}\r\n`;
}

/** A value that is safe between `: ` and the end of the line. */
export function headerValue(value: string): string {
  for (let index = 0; index < value.length; index += 1) {
    const code = value.charCodeAt(index);
    if (code < FIRST_PRINTABLE || code >= DELETE) return percentEncoded(value);
  }
  return value;
}

/** By way of UTF-8, since `encodeURIComponent` throws at half of a surrogate pair. */
function percentEncoded(value: string): string {
  return encodeURIComponent(Buffer.from(value, 'utf8').toString('utf8'));
}
