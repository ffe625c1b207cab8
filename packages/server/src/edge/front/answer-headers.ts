import type { VersionSpec } from '@gimbal/core';
import type { Inferred, PieceSource } from '../route.ts';
import { headerLine } from './header-line.ts';

/** Constant lines of each variant; a version that is unloaded takes its entry with it. */
const constantLines = new WeakMap<VersionSpec, Map<string, string>>();

const DECIMALS = Array.from({ length: 100 }, (_, hundredths) => `.${String(hundredths).padStart(2, '0')}`);

/** `Inference-…` and `Server-Timing` of an answer. */
export function inferenceLines(spec: VersionSpec, how: Inferred, totalMs: number): string {
  const { timings } = how;
  const lines = `${variantLines(spec, how.variant)}Inference-Batch-Size: ${how.batchRows}\r\nServer-Timing: queue;dur=${twoDecimals(timings.queueMs)}, batch;dur=${twoDecimals(timings.batchMs)}, preprocess;dur=${twoDecimals(timings.preprocessMs)}, infer;dur=${twoDecimals(timings.inferMs)}, postprocess;dur=${twoDecimals(timings.postprocessMs)}, total;dur=${twoDecimals(totalMs)}\r\n`;
  return lines + degradedLine(how) + cacheLine(how);
}

function degradedLine({
  rung,
  degradedBecause,
  cached,
}: Pick<Inferred, 'rung' | 'degradedBecause' | 'cached'>): string {
  if (rung === 0 && cached?.kind !== 'stale') return '';
  return `Inference-Degraded: rung=${rung};reason="${degradedBecause ?? 'unavailable'}"\r\n`;
}

/** RFC 9211. Nothing for what no cache has seen. */
function cacheLine({ cached }: Inferred): string {
  if (!cached) return '';
  const ageSeconds = Math.floor(cached.ageMs / 1000);
  switch (cached.kind) {
    case 'hit':
      return `Cache-Status: gimbal;hit\r\nAge: ${ageSeconds}\r\n`;
    case 'joined':
      return 'Cache-Status: gimbal;fwd=miss;collapsed\r\n';
    case 'stale':
      return `Cache-Status: gimbal;hit;detail=stale\r\nAge: ${ageSeconds}\r\n`;
  }
}

/** `Inference-…` and `Server-Timing` of an answer in pieces, as far as they are known at its first one. */
export function streamLines(spec: VersionSpec, by: PieceSource | undefined, firstPieceMs: number): string {
  if (!by) return versionLines(spec);
  const queue = by.queueMs === undefined ? '' : `queue;dur=${twoDecimals(by.queueMs)}, `;
  const timing = `Server-Timing: ${queue}first;dur=${twoDecimals(firstPieceMs)}\r\n`;
  return variantLines(spec, by.variant) + timing + degradedLine({ ...by, cached: undefined });
}

/** `Inference-Model` and `Inference-Version`, for answers that no variant gave. */
export function versionLines(spec: VersionSpec): string {
  return headerLine('Inference-Model', spec.model) + headerLine('Inference-Version', spec.version);
}

/** A duration with two decimals; negative ones, of clocks that differ by a hair, are 0. */
export function twoDecimals(value: number): string {
  const hundredths = Math.round(value * 100);
  if (!(hundredths > 0)) return '0.00';
  const whole = Math.floor(hundredths / 100);
  return whole + (DECIMALS[hundredths - whole * 100] as string);
}

function variantLines(spec: VersionSpec, variant: string): string {
  let variants = constantLines.get(spec);
  if (!variants) {
    variants = new Map();
    constantLines.set(spec, variants);
  }
  let lines = variants.get(variant);
  if (lines === undefined) {
    lines = versionLines(spec) + headerLine('Inference-Variant', variant);
    variants.set(variant, lines);
  }
  return lines;
}
