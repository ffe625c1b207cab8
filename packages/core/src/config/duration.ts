const UNITS_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};
const PATTERN = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h|d)$/;

/** The regular expression of a duration with its unit, for JSON Schema. */
export const DURATION_PATTERN = PATTERN.source;

/** Milliseconds of a text such as `5ms`, `1.5s`, `2m`, `1h` or `7d`; undefined when it is none. */
export function parseDurationMs(text: string): number | undefined {
  const match = PATTERN.exec(text.trim());
  const unit = UNITS_MS[match?.[2] ?? ''];
  return match?.[1] === undefined || unit === undefined ? undefined : Number(match[1]) * unit;
}

/** The shortest text that `parseDurationMs` reads back as the same milliseconds. */
export function formatDurationMs(durationMs: number): string {
  if (durationMs === 0) return '0ms';
  for (const unit of ['d', 'h', 'm', 's']) {
    const unitMs = UNITS_MS[unit] ?? 1;
    if (durationMs % unitMs === 0) return `${durationMs / unitMs}${unit}`;
  }
  return `${durationMs}ms`;
}
