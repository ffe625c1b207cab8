import type { FieldError, GimbalError } from '@gimbal/core';
import { WireWriter } from './wire-writer.ts';

/** What field violations may take in all, and characters of a text in one: clients take 8 KiB of trailers by default. */
const MAX_FIELDS_BYTES = 1_536;
const MAX_TEXT = 200;

const TYPES = 'type.googleapis.com/google.rpc.';

/** Who the reasons belong to (AIP-193). */
const DOMAIN = 'gimbal';

export interface StatusOccasion {
  /** gRPC's number. */
  readonly status: number;
  readonly message: string;
  readonly requestId: string;
  readonly retryAfterMs: number | undefined;
}

/**
 * `google.rpc.Status` for the trailer `grpc-status-details-bin`: ErrorInfo with our code, RetryInfo when asking again
 * makes sense, BadRequest with what is wrong where, RequestInfo.
 * @see https://github.com/googleapis/googleapis/blob/master/google/rpc/error_details.proto
 */
export function statusDetails(error: GimbalError, occasion: StatusOccasion): Buffer {
  const writer = new WireWriter();
  writer.integer(1, occasion.status);
  writer.text(2, occasion.message);
  writer.message(3, any('ErrorInfo', errorInfo(error)));
  if (occasion.retryAfterMs !== undefined) {
    writer.message(3, any('RetryInfo', retryInfo(occasion.retryAfterMs)));
  }
  if (error.fields.length > 0) writer.message(3, any('BadRequest', badRequest(error.fields)));
  const request = new WireWriter();
  request.text(1, occasion.requestId);
  writer.message(3, any('RequestInfo', request.finish()));
  return writer.finish();
}

function any(type: string, value: Buffer): Buffer {
  const writer = new WireWriter();
  writer.text(1, TYPES + type);
  writer.message(2, value);
  return writer.finish();
}

function errorInfo(error: GimbalError): Buffer {
  const writer = new WireWriter();
  writer.text(1, error.code);
  writer.text(2, DOMAIN);
  for (const [key, value] of Object.entries(error.extra)) {
    const entry = new WireWriter();
    entry.text(1, key);
    entry.text(2, short(String(value)));
    writer.message(3, entry.finish());
  }
  return writer.finish();
}

function retryInfo(retryAfterMs: number): Buffer {
  const seconds = Math.floor(retryAfterMs / 1000);
  const delay = new WireWriter();
  delay.integer(1, seconds);
  delay.integer(2, Math.round((retryAfterMs - seconds * 1000) * 1_000_000));
  const writer = new WireWriter();
  writer.message(1, delay.finish());
  return writer.finish();
}

function badRequest(fields: readonly FieldError[]): Buffer {
  const writer = new WireWriter();
  let byteLength = 0;
  for (const { pointer, expected, received, hint } of fields) {
    const violation = new WireWriter();
    violation.text(1, short(pointer));
    const tip = hint === undefined ? '' : `; ${hint}`;
    violation.text(2, short(`expected ${expected}, got ${received}${tip}`));
    const bytes = violation.finish();
    byteLength += bytes.length;
    if (byteLength > MAX_FIELDS_BYTES) break;
    writer.message(1, bytes);
  }
  return writer.finish();
}

function short(text: string): string {
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text;
}
