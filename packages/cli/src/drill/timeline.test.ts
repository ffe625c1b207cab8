import { expect, it } from 'vitest';
import type { Answer } from './answer.ts';
import { answeredPerSecond, timelineLine, timelineOf } from './timeline.ts';

const PLAIN = {
  green: (text: string) => text,
  yellow: (text: string) => text,
  red: (text: string) => text,
  cyan: (text: string) => text,
  dim: (text: string) => text,
};

function ended(endedAt: number, kind: Answer['kind'] = 'good'): Answer {
  return { kind, status: 200, code: '', sentAt: 0, endedAt };
}

it('A timeline counts answers in the second in which they came, with what was done then', () => {
  const answers = [ended(10), ended(999), ended(1000, 'shed'), ended(1500, 'timeout'), ended(9000)];
  expect(timelineOf(answers, [{ at: 1200, text: 'a runner is killed' }], 1)).toEqual([
    { second: 0, good: 2, degraded: 0, shed: 0, failed: 0, marks: [] },
    { second: 1, good: 0, degraded: 0, shed: 1, failed: 1, marks: ['a runner is killed'] },
  ]);
});

it('A line of it shows a single failure among many answers', () => {
  const second = { second: 3, good: 499, degraded: 0, shed: 0, failed: 1, marks: ['a fault'] };
  const line = timelineLine(second, 500, PLAIN);
  expect(line).toBe(`  3s ${'█'.repeat(31)}✗ good 499  failed 1  ◀ a fault`);
});

it('A line of an overload has its bar in shares of all that came', () => {
  const second = { second: 12, good: 80, degraded: 0, shed: 240, failed: 0, marks: [] };
  expect(timelineLine(second, 50, PLAIN)).toBe(` 12s ${'█'.repeat(8)}${'░'.repeat(24)} good 80  shed 240`);
});

it('Answers a second count within a stretch, and degraded ones with them', () => {
  const answers = [ended(0), ended(500, 'degraded'), ended(600, 'shed'), ended(1999), ended(2000)];
  expect(answeredPerSecond(answers, 0, 2000)).toBe(1.5);
});
