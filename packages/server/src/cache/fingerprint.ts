import { hashContent } from './content-hash.ts';
import { bytesOf, frameOf, type RequestContent } from './request-content.ts';

/** Changes with the format of what is hashed. */
const FORMAT = 'gimbal input 1';
/** Bytes of each input that a sketch looks at: enough to tell most inputs of one size apart, for well under 1 µs. */
const SKETCH_SAMPLES = 32;
/** Inputs that a sketch looks at; a model with more has them in its fingerprint. */
const SKETCH_INPUTS = 8;

/**
 * What the quarantine knows a content by: version, every input's name, datatype, shape and bytes. Parameters of the
 * answer are left out, since an input that crashes the model does so for the three best classes as for the five best.
 * SHA-256, hex; as costly as that over the whole input, so look at the sketch first.
 */
export function fingerprintOf(content: RequestContent): string {
  return hashContent([FORMAT, frameOf(content)], bytesOf(content));
}

/** A cheap number, equal for equal contents and seldom for others: 32 bits of FNV-1a over lengths and sampled bytes. */
export function sketchOf(content: RequestContent): number {
  let hash = mix(0x811c9dc5, Number.parseInt(content.digest.slice(0, 8), 16) | 0);
  const parts = bytesOf(content);
  hash = mix(hash, parts.length);
  for (let index = 0; index < Math.min(parts.length, SKETCH_INPUTS); index += 1) {
    const bytes = parts[index];
    if (bytes) hash = sampled(hash, bytes);
  }
  return hash >>> 0;
}

/** Evenly spread, with the first and the last byte. */
function sampled(start: number, bytes: Uint8Array): number {
  const { byteLength } = bytes;
  let hash = mix(start, byteLength | 0);
  const samples = Math.min(SKETCH_SAMPLES, byteLength);
  const stride = (byteLength - 1) / Math.max(1, samples - 1);
  for (let sample = 0; sample < samples; sample += 1) {
    hash = mix(hash, bytes[Math.floor(sample * stride)] ?? 0);
  }
  return hash;
}

function mix(hash: number, value: number): number {
  return Math.imul(hash ^ value, 0x01000193);
}
