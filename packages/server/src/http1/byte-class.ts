/** Classes of bytes by the grammar of RFC 9110, as tables: one look-up a byte. */

export const HTAB = 0x09;
export const LF = 0x0a;
export const CR = 0x0d;
export const SPACE = 0x20;
export const COLON = 0x3a;
export const SEMICOLON = 0x3b;
const DELETE = 0x7f;
const HASH = 0x23;

/** `tchar` (RFC 9110, 5.6.2): methods and header names. */
export const TOKEN_BYTES = tableOf((byte) => {
  const character = String.fromCharCode(byte);
  return isAlphanumeric(byte) || "!#$%&'*+-.^_`|~".includes(character);
});

/** What a header value may hold (RFC 9110, 5.5): visible bytes, space, tab and obs-text, but no other control. */
export const VALUE_BYTES = tableOf((byte) => byte === HTAB || (byte >= SPACE && byte !== DELETE));

/** A request target: visible ASCII. Wider than RFC 3986, which clients break, but a fragment never belongs there. */
export const TARGET_BYTES = tableOf((byte) => byte > SPACE && byte < DELETE && byte !== HASH);

/** `uri-host [":" port]` (RFC 9110, 7.2). */
export const HOST_BYTES = tableOf((byte) => {
  const character = String.fromCharCode(byte);
  return isAlphanumeric(byte) || "-._~!$&'()*+,;=:%[]".includes(character);
});

/** ASCII letters to lower case, all else as it is. */
export const LOWER_CASE = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte,
);

const NOT_HEXADECIMAL = 0xff;

/** Value of a hexadecimal digit; 0xff for what is none. */
export const HEXADECIMAL = Uint8Array.from({ length: 256 }, (_, byte) => {
  const value = '0123456789abcdef'.indexOf(String.fromCharCode(byte).toLowerCase());
  return value >= 0 ? value : NOT_HEXADECIMAL;
});

/** A byte for an error message: itself when it can be shown, else its number. */
export function describeByte(byte: number | undefined): string {
  if (byte === undefined) return 'nothing';
  if (byte > SPACE && byte < DELETE) return `"${String.fromCharCode(byte)}"`;
  return `byte 0x${byte.toString(16).padStart(2, '0')}`;
}

function isAlphanumeric(byte: number): boolean {
  return (byte >= 0x30 && byte <= 0x39) || (byte >= 0x41 && byte <= 0x5a) || (byte >= 0x61 && byte <= 0x7a);
}

function tableOf(allows: (byte: number) => boolean): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, byte) => (allows(byte) ? 1 : 0));
}
