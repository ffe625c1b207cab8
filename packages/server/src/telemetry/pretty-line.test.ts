import { describe, expect, it } from 'vitest';
import { prettyLine, wantsColour } from './pretty-line.ts';

describe('wantsColour', () => {
  it.each([
    [true, {}, true],
    [false, {}, false],
    [true, { NO_COLOR: '1' }, false],
    [true, { NO_COLOR: '' }, true],
    [true, { TERM: 'dumb' }, false],
    [false, { FORCE_COLOR: '1' }, true],
    [true, { FORCE_COLOR: '0' }, false],
    [true, { NO_COLOR: '1', FORCE_COLOR: '1' }, false],
  ])('terminal %s with %j: %s', (isTerminal, environment, expected) => {
    expect(wantsColour({ isTerminal, environment })).toBe(expected);
  });
});

describe('prettyLine', () => {
  it('passes text that is no JSON as it is', () => {
    expect(prettyLine('plain text\n', true)).toBe('plain text\n');
    expect(prettyLine('{not json\n', true)).toBe('{not json\n');
  });

  it('puts a stack below the line', () => {
    const text = prettyLine('{"level":"error","message":"m","err":{"stack":"Error: x\\n at y"}}', false);
    expect(text).toContain('ERROR m\n    Error: x\n     at y\n');
  });

  it('colours only when told to', () => {
    const line = '{"level":"warn","message":"m","timestamp":"2026-09-01T00:00:00Z"}';
    expect(prettyLine(line, false)).not.toContain('\x1b');
    expect(prettyLine(line, true)).toContain('\x1b[33mWARN');
  });

  it('never lets foreign control characters reach the terminal', () => {
    const text = prettyLine(JSON.stringify({ message: 'a\x1b[2Jb\r', model: '\x1b]0;x\x07' }), false);
    const controls = [...text.trimEnd()].filter((character) => character < ' ');
    expect(controls).toEqual([]);
    expect(text).toContain('a\\x1b[2Jb\\x0d');
  });
});
