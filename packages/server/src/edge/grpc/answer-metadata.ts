import type { VersionSpec } from '@gimbal/core';
import { Metadata } from '@grpc/grpc-js';
import { inferenceLines } from '../front/answer-headers.ts';
import type { Inferred } from '../route.ts';

/** The headers that an HTTP answer has, under the same names. */
export function answerMetadata(
  requestId: string,
  made?: { readonly spec: VersionSpec; readonly how: Inferred; readonly totalMs: number },
): Metadata {
  const metadata = new Metadata();
  metadata.set('x-request-id', requestId);
  if (!made) return metadata;
  for (const line of inferenceLines(made.spec, made.how, made.totalMs).split('\r\n')) {
    const colon = line.indexOf(': ');
    if (colon < 0) continue;
    metadata.set(line.slice(0, colon), line.slice(colon + 2));
  }
  return metadata;
}
