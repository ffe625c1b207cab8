import { expect, it } from 'vitest';
import { type ErrorAnswer, errorOfAnswer } from './error-document.ts';

const NOW_MS = Date.UTC(2026, 0, 1);

function anAnswer(
  change: Omit<Partial<ErrorAnswer>, 'headers'> & { headers?: Record<string, string> },
): ErrorAnswer {
  return {
    status: 503,
    text: '',
    attempts: 1,
    wallTimeMs: NOW_MS,
    ...change,
    headers: new Headers(change.headers),
  };
}

it.each([
  ['seconds', '7', 7000],
  ['a date', 'Thu, 01 Jan 2026 00:00:05 GMT', 5000],
  ['a date that has passed', 'Wed, 31 Dec 2025 00:00:00 GMT', 0],
  ['nonsense', 'soon', undefined],
])('Retry-After as %s', (_what, header, expected) => {
  expect(errorOfAnswer(anAnswer({ headers: { 'retry-after': header } })).retryAfterMs).toBe(expected);
});

it('the document’s milliseconds are finer than the header’s seconds', () => {
  const error = errorOfAnswer(anAnswer({ headers: { 'retry-after': '2' }, text: '{"retry_after_ms":1250}' }));
  expect(error.retryAfterMs).toBe(1250);
});

it.each([
  ['{"retryable":false}', 503, false],
  ['{"retryable":true}', 500, true],
  ['{"code":"OVERLOADED"}', 500, true],
  ['{"code":"BODY_TIMEOUT"}', 408, false],
  ['{"code":"NEWER_THAN_THIS_CLIENT"}', 503, true],
  ['not JSON', 502, true],
  ['null', 500, false],
])('%s with status %d may be retried: %s', (text, status, expected) => {
  expect(errorOfAnswer(anAnswer({ text, status })).retryable).toBe(expected);
});

it('documents that are not what they should be do no harm', () => {
  for (const text of ['[]', '"x"', '{"errors":[1,null,{"pointer":5}]}', '{"detail":5,"code":{}}']) {
    const error = errorOfAnswer(anAnswer({ text, status: 422 }));
    expect(error.message).toContain('422');
    expect(error.code).toBe('HTTP_422');
  }
});

it('kept field errors are bounded', () => {
  const text = JSON.stringify({ errors: Array.from({ length: 1000 }, () => ({ pointer: '/a' })) });
  expect(errorOfAnswer(anAnswer({ text })).fields).toHaveLength(50);
});
