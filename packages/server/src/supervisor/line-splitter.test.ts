import { expect, test } from 'vitest';
import { LineSplitter } from './line-splitter.ts';

function splitter(): { lines: string[]; splitter: LineSplitter; clock: { now: number } } {
  const lines: string[] = [];
  const clock = { now: 0 };
  return {
    lines,
    clock,
    splitter: new LineSplitter(
      (line) => lines.push(line),
      () => clock.now,
    ),
  };
}

test('LineSplitter joins what comes in pieces and leaves out empty lines', () => {
  const { lines, splitter: it } = splitter();
  for (const piece of ['one\ntw', 'o\r\n\n', 'th', 'ree']) it.push(piece);
  expect(lines).toEqual(['one', 'two']);
  it.end();
  expect(lines).toEqual(['one', 'two', 'three']);
});

test('LineSplitter cuts lines that are too long and keeps no more of them', () => {
  const { lines, splitter: it } = splitter();
  for (let piece = 0; piece < 100; piece += 1) it.push('x'.repeat(1000));
  it.push('\nnext\n');
  expect(lines.map((line) => line.length)).toEqual([4096, 4]);
});

test('LineSplitter counts what is over its rate and says so in the next second', () => {
  const { lines, splitter: it, clock } = splitter();
  it.push('line\n'.repeat(250));
  expect(lines).toHaveLength(100);
  clock.now = 1000;
  it.push('later\n');
  expect(lines.slice(100)).toEqual(['150 lines left out: more than 100 in a second', 'later']);
});
