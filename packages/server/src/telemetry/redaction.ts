const REDACTED = '[redacted]';
/** Deeper objects are cut off: a log field is not a document. */
const MAX_DEPTH = 8;
const MAX_ENTRIES = 200;
const MAX_TEXT_LENGTH = 8_192;

/** Keys whose values are secrets wherever they stand, compared in lower case without `-` and `_`. */
const SECRET_KEYS = [
  'authorization',
  'proxyauthorization',
  'cookie',
  'setcookie',
  'apikey',
  'xapikey',
  'password',
  'passwd',
  'passphrase',
  'secret',
  'clientsecret',
  'token',
  'accesstoken',
  'refreshtoken',
  'privatekey',
  'credentials',
];
const SECRET_SUFFIXES = ['password', 'secret', 'token', 'apikey', 'privatekey'];

const BEARER = /\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}/gi;
const URL_CREDENTIALS = /\b([a-z][a-z0-9+.-]*:\/\/)[^\s/@:]*:[^\s/@]+@/gi;

/**
 * A copy without secrets: values of secret keys at any depth, bearer tokens and passwords of URLs inside texts. Used
 * for log fields and for the configuration that the admin port shows; never on the path of a request.
 */
export function redacted(value: unknown): unknown {
  return redactAt(value, 0);
}

export function redactedText(text: string): string {
  const cut = text.length > MAX_TEXT_LENGTH ? `${text.slice(0, MAX_TEXT_LENGTH)}…` : text;
  return cut.replace(BEARER, `$1 ${REDACTED}`).replace(URL_CREDENTIALS, `$1${REDACTED}@`);
}

function redactAt(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return redactedText(value);
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= MAX_DEPTH) return '[too deep]';
  if (value instanceof Error) return redactError(value, depth);
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (Array.isArray(value)) return value.slice(0, MAX_ENTRIES).map((entry) => redactAt(entry, depth + 1));
  return Object.fromEntries(
    Object.entries(value)
      .slice(0, MAX_ENTRIES)
      .map(([key, entry]) => [key, isSecret(key) ? REDACTED : redactAt(entry, depth + 1)]),
  );
}

/** Errors have no enumerable fields: their text, stack and cause are what a log is for. */
function redactError(error: Error, depth: number): unknown {
  return {
    type: error.name,
    message: redactedText(error.message),
    ...('code' in error ? { code: error.code } : {}),
    ...(error.stack === undefined ? {} : { stack: redactedText(error.stack) }),
    ...(error.cause === undefined ? {} : { cause: redactAt(error.cause, depth + 1) }),
  };
}

function isSecret(key: string): boolean {
  const plain = key.toLowerCase().replaceAll('-', '').replaceAll('_', '');
  return SECRET_KEYS.includes(plain) || SECRET_SUFFIXES.some((suffix) => plain.endsWith(suffix));
}
