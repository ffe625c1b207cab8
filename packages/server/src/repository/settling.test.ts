import { expect, it } from 'vitest';
import { Settling } from './settling.ts';

const SETTLE_MS = 100;

it('a folder may be read once it has been the same for the settle time', () => {
  const settling = new Settling(SETTLE_MS, 'old');
  expect(settling.look('new', 0)).toEqual({ readable: false, waitMs: 100 });
  expect(settling.look('new', 60)).toEqual({ readable: false, waitMs: 40 });
  expect(settling.look('new', 100)).toEqual({ readable: true, waitMs: undefined });
});

it('a file that grows keeps the folder waiting, however long it takes', () => {
  const settling = new Settling(SETTLE_MS, 'old');
  for (let now = 0; now < 10_000; now += 90) {
    expect(settling.look(`${now} bytes`, now).readable).toBe(false);
  }
  expect(settling.look('all bytes', 10_000).readable).toBe(false);
  expect(settling.look('all bytes', 10_100).readable).toBe(true);
});

it('what was taken is not read again', () => {
  const settling = new Settling(SETTLE_MS);
  settling.look('same', 0);
  expect(settling.look('same', 100).readable).toBe(true);
  settling.take('same');
  expect(settling.look('same', 200)).toEqual({ readable: false, waitMs: undefined });
  expect(settling.look('same', 90_000)).toEqual({ readable: false, waitMs: undefined });
});

it('a change that is undone within the settle time is none', () => {
  const settling = new Settling(SETTLE_MS, 'old');
  expect(settling.look('new', 0).waitMs).toBe(100);
  expect(settling.look('old', 50)).toEqual({ readable: false, waitMs: undefined });
});
