import type { VersionSpec } from '@gimbal/core';
import type { Inferred } from '../route.ts';
import { headerLine } from './header-line.ts';

/** Constant lines of each variant; a version that is unloaded takes its entry with it. */
const constantLines = new WeakMap<VersionSpec, Map<string, string>>();

const DECIMALS = Array.from({ length: 100 }, (_, hundredths) => `.${String(hundredths).padStart(2, '0')}`);

/** `Inference-…` and `Server-Timing` of an answer. */
export function inferenceLines(spec: VersionSpec, how: Inferred, totalMs: number): string {
  const { timings } = how;
  const lines = `${variantLines(spec, how.variant)}Inference-Batch-Size: ${how.batchRows}\r\nServer-Timing: queue;dur=${twoDecimals(timings.queueMs)}, batch;dur=${twoDecimals(timings.batchMs)}, preprocess;dur=${twoDecimals(timings.preprocessMs)}, infer;dur=${twoDecimals(timings.inferMs)}, postprocess;dur=${twoDecimals(timings.postprocessMs)}, total;dur=${twoDecimals(totalMs)}\r\n`;
  // Until there is a ladder under load, a lower rung is only ever used because the better ones are not there.
  return how.rung > 0 ? `${lines}Inference-Degraded: rung=${how.rung};reason="unavailable"\r\n` : lines;
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
