import { type ErrorCode, errorRow, GimbalError } from '@gimbal/core';

/** A request that is answered by this layer itself: its framing can't be trusted, so the connection ends with it. */
export interface Refusal {
  readonly error: GimbalError;
  /** HTTP knows finer statuses for malformed heads (414, 417, 431, 505) than the registry's code has. */
  readonly status: number;
}

export function refusal(message: string, status?: number): Refusal {
  return refusalOf('MALFORMED_REQUEST', `Cannot read the request: ${message}`, status);
}

export function refusalOf(code: ErrorCode, message: string, status = errorRow(code).http): Refusal {
  return { error: new GimbalError(code, message), status };
}
