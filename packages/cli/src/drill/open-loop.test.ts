import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Answer } from './answer.ts';
import { OpenLoop } from './open-loop.ts';
import type { PreparedRequest, Sender } from './sender.ts';

const REQUEST: PreparedRequest = { path: '/', body: Buffer.alloc(0), headers: {} };

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

/** Answers after so long, or never. */
function aSender(answerMs: number | undefined): Pick<Sender, 'now' | 'send'> {
  return {
    now: () => performance.now(),
    send: () =>
      new Promise<Answer>((resolve) => {
        if (answerMs === undefined) return;
        setTimeout(() => resolve({ kind: 'good', status: 200, code: '', sentAt: 0, endedAt: 0 }), answerMs);
      }),
  };
}

function aLoop(ratePerSecond: number, answerMs: number | undefined): OpenLoop {
  return new OpenLoop(aSender(answerMs) as Sender, ratePerSecond, () => REQUEST);
}

it('OpenLoop sends at its rate however slowly it is answered', async () => {
  const loop = aLoop(200, 5000);
  loop.start();
  await vi.advanceTimersByTimeAsync(2000);
  const stopped = loop.stop();
  await vi.advanceTimersByTimeAsync(5000);
  await stopped;
  expect(loop.answers).toHaveLength(400);
});

it('OpenLoop takes another rate while it runs', async () => {
  const loop = aLoop(100, 0);
  loop.start();
  await vi.advanceTimersByTimeAsync(1000);
  loop.ratePerSecond = 10;
  await vi.advanceTimersByTimeAsync(1000);
  const stopped = loop.stop();
  await vi.advanceTimersByTimeAsync(1);
  await stopped;
  expect(loop.answers).toHaveLength(110);
});

it('OpenLoop does not send more than it can wait for, and counts what it left out', async () => {
  const loop = aLoop(10_000, undefined);
  loop.start();
  await vi.advanceTimersByTimeAsync(1000);
  expect(loop.unsent).toBe(6000);
  expect(loop.answers).toEqual([]);
});
