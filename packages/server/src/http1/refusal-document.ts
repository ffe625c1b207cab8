import type { GimbalError } from '@gimbal/core';
import type { RenderedRefusal } from './connection-host.ts';

/** A problem document (RFC 9457) for requests that never reached an edge. There is no request id: none was read. */
export function refusalDocument(error: GimbalError, status: number): RenderedRefusal {
  const { code, row } = error;
  const body = JSON.stringify({
    type: `/docs/errors#${code}`,
    title: row.title,
    status,
    detail: error.message,
    code,
    retryable: row.retry !== 'never',
  });
  return { headers: 'Content-Type: application/problem+json\r\n', body };
}
