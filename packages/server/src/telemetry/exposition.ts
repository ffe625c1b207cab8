import type { HistogramSample, MetricFamily } from './metric-family.ts';

/** `prometheus`: text format 0.0.4. `openmetrics`: OpenMetrics 1.0.0. */
export type ExpositionFormat = 'prometheus' | 'openmetrics';

export const CONTENT_TYPES: Readonly<Record<ExpositionFormat, string>> = {
  prometheus: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
};

const BUCKET_ENDS: Readonly<Record<ExpositionFormat, WeakMap<readonly number[], readonly string[]>>> = {
  prometheus: new WeakMap(),
  openmetrics: new WeakMap(),
};

/** The families as text, in pieces of at most one series, so that a large page can be made in many short turns. */
export function* expositionChunks(
  families: readonly MetricFamily[],
  format: ExpositionFormat,
): Generator<string, void> {
  for (const family of families) {
    const { definition } = family;
    const header = familyHeader(family, format);
    yield `# HELP ${header.name} ${escapeHelp(definition.help, format)}\n# TYPE ${header.name} ${header.type}\n`;
    for (const sample of family.samples) {
      yield `${definition.name}${braced(sample.labels)} ${number(sample.value)}\n`;
    }
    for (const histogram of family.histograms) yield histogramLines(definition.name, histogram, format);
  }
  if (format === 'openmetrics') yield '# EOF\n';
}

/**
 * OpenMetrics names a counter family without its `_total`, and knows no counter whose samples lack it: Triton's names
 * become `unknown` there.
 */
function familyHeader(
  { definition }: MetricFamily,
  format: ExpositionFormat,
): { name: string; type: string } {
  const { name, type } = definition;
  if (format === 'prometheus' || type !== 'counter') return { name, type };
  if (name.endsWith('_total')) return { name: name.slice(0, -'_total'.length), type };
  return { name, type: 'unknown' };
}

function histogramLines(name: string, sample: HistogramSample, format: ExpositionFormat): string {
  const start = sample.labels === '' ? `${name}_bucket{` : `${name}_bucket{${sample.labels},`;
  const ends = bucketEnds(sample.bounds, format);
  let text = '';
  let cumulated = 0;
  for (let index = 0; index < ends.length; index += 1) {
    cumulated += sample.counts[index] ?? 0;
    text += `${start}${ends[index]}${cumulated}${exemplarText(sample, index, format)}\n`;
  }
  const labels = braced(sample.labels);
  return `${text}${name}_sum${labels} ${number(sample.sum)}\n${name}_count${labels} ${cumulated}\n`;
}

/** `le="0.5"} ` for each bucket: the same for all series of a metric. */
function bucketEnds(bounds: readonly number[], format: ExpositionFormat): readonly string[] {
  const known = BUCKET_ENDS[format].get(bounds);
  if (known) return known;
  const ends = [...bounds.map((bound) => `le="${boundText(bound, format)}"} `), 'le="+Inf"} '];
  BUCKET_ENDS[format].set(bounds, ends);
  return ends;
}

function exemplarText(sample: HistogramSample, bucket: number, format: ExpositionFormat): string {
  const exemplar = format === 'openmetrics' ? sample.exemplars?.[bucket] : undefined;
  if (!exemplar) return '';
  return ` # {trace_id="${exemplar.traceId}"} ${number(exemplar.value)} ${(exemplar.wallTimeMs / 1000).toFixed(3)}`;
}

/** OpenMetrics wants `1.0` where the older format writes `1`. */
function boundText(bound: number, format: ExpositionFormat): string {
  return format === 'openmetrics' && Number.isInteger(bound) ? `${bound}.0` : String(bound);
}

function braced(labels: string): string {
  return labels === '' ? '' : `{${labels}}`;
}

function number(value: number): string {
  if (Number.isFinite(value)) return String(value);
  if (Number.isNaN(value)) return 'NaN';
  return value > 0 ? '+Inf' : '-Inf';
}

function escapeHelp(help: string, format: ExpositionFormat): string {
  const escaped = help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
  return format === 'openmetrics' ? escaped.replaceAll('"', '\\"') : escaped;
}
