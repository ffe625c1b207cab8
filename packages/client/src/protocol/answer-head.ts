import type { AnswerHead, Timings } from '../schema.ts';

/** How an answer was made, as its headers say. Pages of another origin see only those that the server exposes to them. */
export function headOfHeaders(headers: Headers): AnswerHead {
  const degraded = degradedOf(headers.get('inference-degraded'));
  return {
    model: headers.get('inference-model') ?? '',
    version: headers.get('inference-version') ?? '',
    variant: headers.get('inference-variant') ?? '',
    degraded: degraded !== undefined,
    rung: degraded?.rung ?? 0,
    degradedReason: degraded?.reason,
    requestId: headers.get('x-request-id') ?? undefined,
    timings: timingsOf(headers.get('server-timing')),
  };
}

/** `rung=2;reason="overload"` */
function degradedOf(
  header: string | null,
): { readonly rung: number; readonly reason: string | undefined } | undefined {
  if (header === null) return undefined;
  const rung = /(?:^|;)\s*rung=(\d{1,4})/.exec(header)?.[1];
  const reason = /(?:^|;)\s*reason="([^"]*)"/.exec(header)?.[1];
  return { rung: rung === undefined ? 1 : Number(rung), reason };
}

/** `queue;dur=0.40, batch;dur=2.10` (https://www.w3.org/TR/server-timing/) */
function timingsOf(header: string | null): Timings {
  const durations = new Map<string, number>();
  for (const metric of (header ?? '').split(',')) {
    const [, name, duration] = /^\s*([\w-]+)\s*;.*?dur=([\d.]+)/.exec(metric) ?? [];
    if (name !== undefined) durations.set(name, Number(duration));
  }
  return timingsFrom((stage) => durations.get(stage));
}

export function timingsFrom(durationOf: (stage: string) => unknown): Timings {
  const stage = (name: string): number => {
    const duration = durationOf(name);
    return typeof duration === 'number' && Number.isFinite(duration) ? duration : 0;
  };
  return {
    queueMs: stage('queue'),
    batchMs: stage('batch'),
    preprocessMs: stage('preprocess'),
    inferMs: stage('infer'),
    postprocessMs: stage('postprocess'),
    totalMs: stage('total'),
  };
}
