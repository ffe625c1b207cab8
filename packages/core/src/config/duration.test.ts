import fc from 'fast-check';
import { expect, it } from 'vitest';
import { describeByteSize, formatByteSize, parseByteSize } from './byte-size.ts';
import { formatDurationMs, parseDurationMs } from './duration.ts';

it.each([
  ['5ms', 5],
  ['1s', 1_000],
  ['1.5s', 1_500],
  ['2m', 120_000],
  ['1h', 3_600_000],
  ['7d', 604_800_000],
  [' 5ms ', 5],
])('%j is a duration', (text, expected) => {
  expect(parseDurationMs(text)).toBe(expected);
});

it.each(['5', '', 'ms', '-5ms', '5 ms', '1e3ms', '5MS', '5ms5s', 'Infinityms', '99999999999ms'])(
  '%j is none',
  (text) => {
    expect(parseDurationMs(text)).toBeUndefined();
  },
);

it('a formatted duration reads back as the same milliseconds', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 999_999_999 }), (durationMs) => {
      expect(parseDurationMs(formatDurationMs(durationMs))).toBe(durationMs);
    }),
  );
});

it.each([
  ['64KiB', 65_536],
  ['1.5GiB', 1_610_612_736],
  ['10 MB', 10_000_000],
  ['7B', 7],
])('%j is a size', (text, expected) => {
  expect(parseByteSize(text)).toBe(expected);
});

it.each(['64', '64kb', '-1KiB', 'KiB', '1TiB'])('%j is no size', (text) => {
  expect(parseByteSize(text)).toBeUndefined();
});

it('a formatted size reads back as the same bytes', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 999_999_999 }), (bytes) => {
      expect(parseByteSize(formatByteSize(bytes))).toBe(bytes);
    }),
  );
});

it('people get three digits', () => {
  expect(describeByteSize(12_165_295)).toBe('11.6 MiB');
  expect(describeByteSize(512)).toBe('512 B');
});
