import type { GimbalError, Random } from '@gimbal/core';
import { Metadata, status } from '@grpc/grpc-js';
import { retryAfterOf } from '../front/errors.ts';
import { statusDetails } from './status-details.ts';

/** Longest message on the wire; percent-encoding may make nine bytes of a character, and clients take 8 KiB in all. */
const MAX_MESSAGE_BYTES = 1_536;

/** What the gRPC library ends a call with. */
export interface FailedStatus {
  readonly code: status;
  readonly details: string;
  readonly metadata: Metadata;
}

/** gRPC's number of a registry row. */
export function statusNumber(error: GimbalError): status {
  // What every gRPC library itself says of a message over its limit, and what clients look for.
  if (error.code === 'INPUT_TOO_LARGE') return status.RESOURCE_EXHAUSTED;
  return status[error.row.grpc as keyof typeof status] ?? status.UNKNOWN;
}

/** An error of the registry as a status, with all that the other protocols say of it in its trailers. */
export function failedStatus(error: GimbalError, requestId: string, random: Random): FailedStatus {
  const code = statusNumber(error);
  const details = publicMessage(error);
  const retryAfterMs = retryAfterOf(error, random)?.milliseconds;
  const metadata = new Metadata();
  metadata.set('x-request-id', requestId);
  metadata.set(
    'grpc-status-details-bin',
    statusDetails(error, { status: code, message: details, requestId, retryAfterMs }),
  );
  // Clients with a retry policy wait that long (gRFC A6).
  if (retryAfterMs !== undefined) metadata.set('grpc-retry-pushback-ms', String(retryAfterMs));
  return { code, details, metadata };
}

/** The library percent-encodes a message and throws at halves of surrogate pairs, which cut-off texts may end with. */
export function publicMessage(error: GimbalError): string {
  const text = error.message.toWellFormed();
  if (encodeURI(text).length <= MAX_MESSAGE_BYTES) return text;
  // Each turn takes a quarter away: ten leave of the longest message less than what is allowed.
  let kept = text.slice(0, MAX_MESSAGE_BYTES).toWellFormed();
  while (encodeURI(kept).length > MAX_MESSAGE_BYTES) {
    kept = kept.slice(0, Math.floor(kept.length * 0.75)).toWellFormed();
  }
  return `${kept}…`;
}
