import { ERROR_CODES, errorRow, type RetryAdvice } from '@gimbal/core';

const RETRY_TEXT: Readonly<Record<RetryAdvice, string>> = {
  never: 'no: the same request fails the same way',
  'after-delay': 'after the Retry-After of the answer',
  elsewhere: 'yes, at another runner or replica',
  'smaller-batch': 'yes, with fewer rows',
};

/** docs/reference/errors.md: the error registry as a page. */
export function errorsPage(): string {
  const rows = [...ERROR_CODES].sort().map((code) => {
    const { http, httpV2, grpc, outcome, retry, breaker, title } = errorRow(code);
    const status = httpV2 === undefined ? String(http) : `${http}; V2: ${httpV2}`;
    return `| \`${code}\` | ${title} | ${status} | ${grpc} | \`${outcome}\` | ${RETRY_TEXT[retry]} | ${breaker} |`;
  });
  return [
    '# Errors',
    '',
    'Every error has one of these codes, in the member `code` of its body. Native routes answer',
    '`application/problem+json` (RFC 9457), V2 routes `{"error": "…"}`. The message says what could not be done, what',
    'was expected and what was got; `errors` points at the places in the input.',
    '',
    '| code | meaning | HTTP | gRPC | outcome in metrics | ask again? | weight for breakers |',
    '|---|---|---|---|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}
