import { toGimbalError } from '@gimbal/core';
import { ACCEPTED_CODINGS, codingOf, expand } from '../front/content-coding.ts';
import type { EdgeRequest } from '../route.ts';

export interface PlainBodyTaker {
  /** Bytes at most, as they come and after decompression alike. */
  readonly limitBytes: number;
  /** The body is a view that ends with the call. */
  readonly onBody: (body: Uint8Array) => void;
  readonly onFail: (error: unknown) => void;
}

/** A whole body, decompressed as its Content-Encoding says. A coding that is not known is answered with 415. */
export function readPlainBody(request: EdgeRequest, { limitBytes, onBody, onFail }: PlainBodyTaker): void {
  const { exchange, reply } = request;
  let coding: ReturnType<typeof codingOf>;
  try {
    coding = codingOf(exchange.head.header('content-encoding'));
  } catch (error) {
    reply.fail(toGimbalError(error), { headers: ACCEPTED_CODINGS });
    return;
  }
  const take =
    coding === undefined
      ? onBody
      : (body: Uint8Array): void => expand(body, { coding, limitBytes, onBody, onFail });
  exchange.readBody(limitBytes, take, onFail);
}
