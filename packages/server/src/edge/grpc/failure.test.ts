import { ERROR_CODES, GimbalError, SeededRandom } from '@gimbal/core';
import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { failedStatus, publicMessage, statusNumber } from './failure.ts';
import { readStatus } from './testing/read-status.ts';

function failed(error: GimbalError) {
  const made = failedStatus(error, 'r-1', new SeededRandom(3));
  const [bytes] = made.metadata.get('grpc-status-details-bin');
  return { ...made, ...readStatus(bytes as Buffer) };
}

describe('a failed status', () => {
  it('has the registry’s status for every code', () => {
    for (const code of ERROR_CODES) {
      const error = new GimbalError(code, 'Cannot');
      expect(statusNumber(error), code).not.toBe(status.UNKNOWN);
      if (code !== 'INPUT_TOO_LARGE') expect(status[statusNumber(error)]).toBe(error.row.grpc);
    }
  });

  it('says code, retry time, fields and request id in its details', () => {
    const fields = [{ pointer: '/inputs', expected: '[-1, 2]', received: '[3]', hint: 'reshape it' }];
    const error = new GimbalError('OVERLOADED', 'Cannot take it', {
      fields,
      retryAfterMs: 1500,
      extra: { estimated_seconds: 4 },
    });
    const { code, details, metadata, status: read } = failed(error);
    expect(code).toBe(status.UNAVAILABLE);
    expect(read).toMatchObject({ code: status.UNAVAILABLE, message: 'Cannot take it' });
    expect(details.ErrorInfo).toEqual({
      reason: 'OVERLOADED',
      domain: 'gimbal',
      metadata: { estimated_seconds: '4' },
    });
    expect(details.BadRequest).toEqual({
      field_violations: [{ field: '/inputs', description: 'expected [-1, 2], got [3]; reshape it' }],
    });
    expect(details.RequestInfo).toEqual({ request_id: 'r-1' });
    const { seconds, nanos } = (details.RetryInfo as { retry_delay: { seconds: number; nanos: number } })
      .retry_delay;
    expect(seconds * 1000 + nanos / 1e6).toBeGreaterThanOrEqual(1500);
    expect(metadata.get('grpc-retry-pushback-ms')).toEqual([String(seconds * 1000 + nanos / 1e6)]);
    expect(metadata.get('x-request-id')).toEqual(['r-1']);
  });

  it('gives no retry time where asking again is no use', () => {
    const { details, metadata } = failed(new GimbalError('INVALID_INPUT', 'Cannot'));
    expect(details.RetryInfo).toBeUndefined();
    expect(metadata.get('grpc-retry-pushback-ms')).toEqual([]);
  });

  it('stays within what clients take, whatever its message and fields are', () => {
    const fields = Array.from({ length: 100 }, () => ({
      pointer: '/x'.repeat(400),
      expected: '日'.repeat(400),
      received: 'y'.repeat(4000),
    }));
    const error = new GimbalError('INVALID_INPUT', '日本'.repeat(3000), { fields });
    const { metadata, details } = failed(error);
    const [bytes] = metadata.get('grpc-status-details-bin');
    expect(encodeURI(publicMessage(error)).length).toBeLessThan(1_600);
    expect(((bytes as Buffer).length * 4) / 3).toBeLessThan(6_000);
    expect((details.BadRequest as { field_violations: unknown[] }).field_violations.length).toBeGreaterThan(
      0,
    );
  });

  it('can be sent although a text was cut off inside a character', () => {
    const error = new GimbalError('INVALID_INPUT', `Cannot use "${'😀'.slice(0, 1)}"`);
    expect(() => encodeURI(publicMessage(error))).not.toThrow();
  });
});
