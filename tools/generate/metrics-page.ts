// The one place outside the server that reads its metric table: the page must not be able to differ from it.
import { METRICS, type MetricDefinition } from '../../packages/server/src/telemetry/metric-definitions.ts';

const GROUPS: readonly { group: MetricDefinition['group']; title: string; about: string }[] = [
  {
    group: 'gimbal',
    title: 'Gimbal',
    about:
      'Base units (seconds, bytes), counters end in `_total`. At most 2,000 series a metric; the rest is `other`.',
  },
  {
    group: 'process',
    title: 'Host process',
    about: 'Under the names that the Prometheus clients share.',
  },
  {
    group: 'triton',
    title: 'Triton-compatible',
    about: 'Only with `metrics.compat: [triton]`, for dashboards and autoscalers that know these names.',
  },
];

/** docs/reference/metrics.md: the metric definitions as a page. */
export function metricsPage(): string {
  return [
    '# Metrics',
    '',
    'Served on the admin port at `/metrics`, as Prometheus text or, when the scraper asks for it, as OpenMetrics with',
    'exemplars.',
    '',
    ...GROUPS.flatMap(({ group, title, about }) => [
      `## ${title}`,
      '',
      about,
      '',
      '| metric | type | labels | meaning |',
      '|---|---|---|---|',
      ...Object.values(METRICS)
        .filter((metric) => metric.group === group)
        .map(metricRow),
      '',
    ]),
  ].join('\n');
}

function metricRow({ name, type, labels, help }: MetricDefinition): string {
  return `| \`${name}\` | ${type} | ${labels.join(', ')} | ${help} |`;
}
