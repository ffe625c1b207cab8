import { LOWER_CASE } from './byte-class.ts';
import type { ByteWindow } from './byte-window.ts';

/** Names that real clients, proxies and our own edges use: no string is made for them. */
const KNOWN_NAMES = [
  'accept',
  'accept-encoding',
  'accept-language',
  'authorization',
  'baggage',
  'cache-control',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'cookie',
  'date',
  'endpoint-load-metrics-type',
  'expect',
  'forwarded',
  'host',
  'idempotency-key',
  'if-modified-since',
  'if-none-match',
  'inference-criticality',
  'inference-degradation',
  'inference-header-content-length',
  'inference-routing-key',
  'inference-timeout-ms',
  'inference-version',
  'keep-alive',
  'origin',
  'pragma',
  'prefer',
  'priority',
  'range',
  'referer',
  'sec-fetch-dest',
  'sec-fetch-mode',
  'sec-fetch-site',
  'te',
  'traceparent',
  'tracestate',
  'transfer-encoding',
  'upgrade',
  'user-agent',
  'via',
  'x-api-key',
  'x-b3-sampled',
  'x-b3-spanid',
  'x-b3-traceid',
  'x-envoy-attempt-count',
  'x-envoy-expected-rq-timeout-ms',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-port',
  'x-forwarded-proto',
  'x-real-ip',
  'x-request-id',
] as const;

const SLOT_COUNT = 256;
const HASH_FACTOR = 31;

/** Names that decide where a message ends or what becomes of the connection. */
const FRAMING_NAMES: readonly string[] = [
  'connection',
  'content-length',
  'expect',
  'host',
  'transfer-encoding',
];

export interface KnownName {
  readonly name: string;
  readonly isFraming: boolean;
  readonly bytes: Uint8Array;
}

const SLOTS: readonly KnownName[][] = Array.from({ length: SLOT_COUNT }, () => []);
for (const name of KNOWN_NAMES) {
  const bytes = Uint8Array.from(name, (character) => character.charCodeAt(0));
  SLOTS[slotOf(bytes.reduce(hashWith, 0))]?.push({ name, bytes, isFraming: FRAMING_NAMES.includes(name) });
}

/** Hash of a name so far with one more byte. Bit 5 makes it blind to the case of letters. */
export function hashWith(hash: number, byte: number): number {
  return (Math.imul(hash, HASH_FACTOR) + (byte | 0x20)) | 0;
}

/** The known name in `name`, whatever its case, by the hash that the scan has made of it. */
export function knownName(hash: number, name: ByteWindow): KnownName | undefined {
  const slot = SLOTS[slotOf(hash)] as readonly KnownName[];
  const length = name.end - name.at;
  for (let index = 0; index < slot.length; index += 1) {
    const known = slot[index] as KnownName;
    if (known.bytes.length === length && equals(known.bytes, name.bytes, name.at)) return known;
  }
  return undefined;
}

function slotOf(hash: number): number {
  return (hash ^ (hash >>> 8)) & (SLOT_COUNT - 1);
}

/** Whether the lower-case `word` stands in `bytes` from `start`, whatever the case there. */
export function equals(word: Uint8Array, bytes: Uint8Array, start: number): boolean {
  for (let index = 0; index < word.length; index += 1) {
    if (LOWER_CASE[bytes[start + index] as number] !== word[index]) return false;
  }
  return true;
}
