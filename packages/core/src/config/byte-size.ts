const UNITS: Readonly<Record<string, number>> = {
  B: 1,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  KiB: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
};
const PATTERN = /^(\d{1,9}(?:\.\d{1,3})?) ?(B|KB|MB|GB|KiB|MiB|GiB)$/;

/** The regular expression of a size with its unit, for JSON Schema. */
export const BYTE_SIZE_PATTERN = PATTERN.source;

/** Bytes of a text such as `64MiB` or `1.5 GB`; undefined when it is none. */
export function parseByteSize(text: string): number | undefined {
  const match = PATTERN.exec(text.trim());
  const unit = UNITS[match?.[2] ?? ''];
  return match?.[1] === undefined || unit === undefined ? undefined : Math.round(Number(match[1]) * unit);
}

/** In the largest binary unit that divides the size, so that it reads back as the same number of bytes. */
export function formatByteSize(bytes: number): string {
  for (const unit of ['GiB', 'MiB', 'KiB']) {
    const size = UNITS[unit] ?? 1;
    if (bytes > 0 && bytes % size === 0) return `${bytes / size}${unit}`;
  }
  return `${bytes}B`;
}

/** For people: three digits and the unit that fits, such as `11.6 MiB`. */
export function describeByteSize(bytes: number): string {
  for (const unit of ['GiB', 'MiB', 'KiB']) {
    const size = UNITS[unit] ?? 1;
    if (bytes >= size) return `${Number((bytes / size).toPrecision(3))} ${unit}`;
  }
  return `${bytes} B`;
}
