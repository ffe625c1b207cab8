import { isGimbalError } from '@gimbal/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FAULT_KINDS } from './fault.ts';
import { readFaultRequest } from './fault-request.ts';

/** Pointers of what is wrong with a body. */
function wrongIn(body: unknown): string[] {
  try {
    readFaultRequest(body);
    return [];
  } catch (error) {
    if (!isGimbalError(error) || error.code !== 'INVALID_INPUT') throw error;
    return error.fields.map(({ pointer }) => pointer);
  }
}

describe('readFaultRequest', () => {
  it('reads a fault with its settings and its target', () => {
    const body = { kind: 'slow', model: 'digits', runner: 77, factor: 5, add_ms: 10, duration_ms: 500 };
    expect(readFaultRequest(body)).toEqual({
      fault: { kind: 'slow', factor: 5, addMs: 10 },
      target: { model: 'digits', runner: '77' },
      durationMs: 500,
      batches: 1_000_000,
      runners: 256,
    });
  });

  it.each(FAULT_KINDS)('needs nothing but the kind for %s', (kind) => {
    expect(readFaultRequest({ kind }).fault.kind).toBe(kind);
  });

  it.each(['kill', 'freeze'] as const)('takes one runner for %s unless told otherwise', (kind) => {
    expect(readFaultRequest({ kind }).runners).toBe(1);
    expect(readFaultRequest({ kind, runners: 3 }).runners).toBe(3);
  });

  it('tells all that is wrong at once', () => {
    const body = { kind: 'fail', ratio: 2, code: 'NO_SUCH', duration_ms: 0, model: '', speed: 1 };
    expect(wrongIn(body).sort()).toEqual(['/code', '/duration_ms', '/model', '/ratio', '/speed']);
  });

  it('refuses a setting of another kind', () => {
    expect(wrongIn({ kind: 'hang', factor: 5 })).toEqual(['/factor']);
  });

  it.each([
    ['abc', false],
    ['', false],
    ['0d07', true],
    ['zz', false],
    ['00'.repeat(65), false],
  ])('takes %j as the bytes of a poison: %s', (prefix, right) => {
    expect(wrongIn({ kind: 'crash', input_prefix: prefix })).toEqual(right ? [] : ['/input_prefix']);
  });

  it('refuses what is no object', () => {
    for (const body of [null, 7, 'kill', ['kill']])
      expect(() => readFaultRequest(body)).toThrow('no JSON object');
  });

  it('never throws anything but an error of the registry, and never lets a bound pass', () => {
    const body = fc.record(
      {
        kind: fc.oneof(fc.constantFrom(...FAULT_KINDS), fc.anything()),
        duration_ms: fc.anything(),
        batches: fc.anything(),
        factor: fc.anything(),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(body, (given) => {
        try {
          const { durationMs, batches } = readFaultRequest(given);
          expect(durationMs).toBeGreaterThan(0);
          expect(durationMs).toBeLessThanOrEqual(600_000);
          expect(batches).toBeGreaterThanOrEqual(1);
        } catch (error) {
          expect(isGimbalError(error)).toBe(true);
        }
      }),
    );
  });
});
