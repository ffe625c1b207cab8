/** `00-<32 hex>-<16 hex>-<2 hex>` */
const LENGTH = 55;
const DASHES = [2, 35, 52];

/** The trace id of a valid W3C traceparent (https://www.w3.org/TR/trace-context/#traceparent-header), else undefined. */
export function traceIdOf(header: string | undefined): string | undefined {
  if (header === undefined || header.length < LENGTH) return undefined;
  const isVersionZero = header.startsWith('00');
  // Later versions may append members after another dash; version ff is forbidden.
  if (isVersionZero ? header.length !== LENGTH : header.length > LENGTH && header[LENGTH] !== '-')
    return undefined;
  if (header.startsWith('ff')) return undefined;
  for (let index = 0; index < LENGTH; index += 1) {
    const code = header.charCodeAt(index);
    const fits = DASHES.includes(index) ? code === 0x2d : isLowerHex(code);
    if (!fits) return undefined;
  }
  const traceId = header.slice(3, 35);
  const isZero = traceId === '0'.repeat(32) || header.slice(36, 52) === '0'.repeat(16);
  return isZero ? undefined : traceId;
}

function isLowerHex(code: number): boolean {
  return (code >= 0x30 && code <= 0x39) || (code >= 0x61 && code <= 0x66);
}
