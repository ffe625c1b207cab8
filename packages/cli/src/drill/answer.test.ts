import { describe, expect, it } from 'vitest';
import { type Answer, countCodes, kindOf, latencyMs, recoveryMs } from './answer.ts';

function anAnswer(parts: Partial<Answer> = {}): Answer {
  return { kind: 'good', status: 200, code: '', sentAt: 0, endedAt: 10, ...parts };
}

describe('An answer is', () => {
  it.each([
    [200, '{"model":"digits","degraded":false,"outputs":{}}', 'good', ''],
    [200, '{"model":"digits","degraded":true,"outputs":{}}', 'degraded', ''],
    [503, '{"code":"OVERLOADED"}', 'shed', 'OVERLOADED'],
    [503, '{"code":"DRAINING"}', 'shed', 'DRAINING'],
    [504, '{"code":"DEADLINE_EXCEEDED"}', 'timeout', 'DEADLINE_EXCEEDED'],
    [422, '{"code":"POISON_INPUT"}', 'refused', 'POISON_INPUT'],
    [503, '{"code":"RUNNER_CRASHED"}', 'failed', 'RUNNER_CRASHED'],
    [500, '{"code":"NOT_KNOWN_HERE"}', 'failed', 'NOT_KNOWN_HERE'],
    [502, '<html>', 'failed', 'status 502'],
  ])('of status %s and %s: %s', (status, body, kind, code) => {
    expect(kindOf(status, body)).toEqual({ kind, code });
  });
});

it('A latency is that of the answer which the share stays within', () => {
  const answers = Array.from({ length: 100 }, (_, index) => anAnswer({ endedAt: index + 1 }));
  expect(latencyMs(answers, 0.5)).toBe(50);
  expect(latencyMs(answers, 0.99)).toBe(99);
  expect(latencyMs(answers, 1)).toBe(100);
  expect(latencyMs([], 0.99)).toBe(0);
});

it('Codes are counted, most frequent first', () => {
  const answers = [
    anAnswer(),
    anAnswer({ kind: 'shed', code: 'OVERLOADED' }),
    anAnswer(),
    anAnswer({ kind: 'degraded' }),
    anAnswer({ kind: 'lost', code: 'ECONNRESET' }),
  ];
  expect(Object.entries(countCodes(answers))).toEqual([
    ['ok', 2],
    ['OVERLOADED', 1],
    ['degraded', 1],
    ['ECONNRESET', 1],
  ]);
});

it('Recovery is the time until the last request that was not answered was sent', () => {
  const answers = [
    anAnswer({ sentAt: 900, kind: 'failed' }),
    anAnswer({ sentAt: 1100 }),
    anAnswer({ sentAt: 1300, kind: 'shed' }),
    anAnswer({ sentAt: 1200, kind: 'lost' }),
    anAnswer({ sentAt: 1400 }),
  ];
  expect(recoveryMs(answers, 1000)).toBe(300);
  expect(recoveryMs(answers.slice(0, 2), 1000)).toBe(0);
});
