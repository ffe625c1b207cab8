import { describe, expect, it } from 'vitest';
import { bar, percentText } from './answer-text.ts';
import { overlaySvg } from './drawing.ts';
import { EXIT } from './exit-code.ts';
import { Failure } from './failure.ts';
import { Terminal, type TerminalOptions } from './terminal.ts';
import { Recorder } from './testing/in-process.ts';

function aTerminal({
  isTTY = true,
  json = false,
  environment = {} as Record<string, string>,
  ...options
}: Partial<TerminalOptions> & { isTTY?: boolean; environment?: Record<string, string> } = {}) {
  const stdout = new Recorder(isTTY);
  const stderr = new Recorder(isTTY);
  return {
    stdout,
    stderr,
    terminal: new Terminal({ stdout, stderr, stdin: { isTTY }, environment }, { json, ...options }),
  };
}

const failure = new Failure(EXIT.invalid, 'Cannot do it', {
  where: 'a:1:2',
  expected: 'x',
  got: 'y',
  fix: 'do z',
});

describe('colours', () => {
  it('are there on a terminal', () => {
    const { terminal, stderr } = aTerminal();
    terminal.fail(failure);
    expect(stderr.text).toContain('\u001b[');
  });

  it.each([
    { isTTY: false },
    { environment: { NO_COLOR: '1' } },
    { environment: { CI: 'true' } },
    { environment: { TERM: 'dumb' } },
    { json: true },
  ])('are not there with %j', (options) => {
    const { terminal, stderr, stdout } = aTerminal(options);
    terminal.fail(failure);
    terminal.print(terminal.colours.red('data'));
    expect(stderr.text + stdout.text).not.toContain('\u001b[');
  });

  it('an empty NO_COLOR is none', () => {
    const { terminal } = aTerminal({ environment: { NO_COLOR: '' } });
    expect(terminal.colours.red('x')).toContain('\u001b[');
  });
});

it('a failure says what, where, expected, got and fix, on stderr only', () => {
  const { terminal, stderr, stdout } = aTerminal({ isTTY: false });
  terminal.fail(failure);
  expect(stderr.text.split('\n').map((line) => line.trim())).toEqual([
    '✗ Cannot do it',
    'where     a:1:2',
    'expected  x',
    'got       y',
    'fix       do z',
    '',
  ]);
  expect(stdout.text).toBe('');
});

it('a failure with --json is also one document on stdout', () => {
  const { terminal, stdout } = aTerminal({ isTTY: false, json: true });
  terminal.fail(failure);
  expect(JSON.parse(stdout.text)).toEqual({
    error: { message: 'Cannot do it', exit_code: 3, where: 'a:1:2', expected: 'x', got: 'y', fix: 'do z' },
  });
});

it('slow work moves only where somebody looks', async () => {
  const silent = aTerminal({ isTTY: false });
  expect(
    await silent.terminal.during('Working', new Promise((resolve) => setTimeout(() => resolve(7), 350))),
  ).toBe(7);
  expect(silent.stderr.text).toBe('');
  const watched = aTerminal();
  await watched.terminal.during('Working', new Promise((resolve) => setTimeout(resolve, 450)));
  expect(watched.stderr.text).toContain('Working…');
  expect(watched.stderr.text.endsWith('\r\u001b[K')).toBe(true);
  await expect(watched.terminal.during('Failing', Promise.reject(failure))).rejects.toBe(failure);
});

it('a bar is as long as its ratio, to an eighth of a letter', () => {
  expect(bar(0)).toBe('');
  expect(bar(1, 4)).toBe('████');
  expect(bar(0.5, 1)).toBe('▌');
  expect(bar(7, 2)).toBe('██');
});

it('labels can not become markup of the drawing', () => {
  const svg = overlaySvg([{ label: '</text><script>&"', confidence: 1, bbox: [0, 0, 1, 1] }], {
    width: 9,
    height: 9,
  });
  expect(svg).toContain('&lt;/text&gt;&lt;script&gt;&amp;&quot;');
  expect(svg).not.toContain('<script>');
});

describe('stderr of a verb that keeps a log there', () => {
  it('has one JSON object a line where no terminal reads it, whatever is said', async () => {
    const { terminal, stderr, stdout } = aTerminal({ isTTY: false, stderr: 'auto' });
    terminal.say('note: a note');
    terminal.say();
    terminal.say(`two\n"lines"`);
    await terminal.during('Working', new Promise((resolve) => setTimeout(resolve, 400)));
    terminal.fail(failure);
    const lines = stderr.text.split('\n').slice(0, -1);
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      { level: 'info', timestamp: expect.any(String), 'service.name': 'gimbal', message: 'note: a note' },
      expect.objectContaining({ message: 'two\n"lines"' }),
      expect.objectContaining({
        level: 'error',
        message: 'Cannot do it',
        where: 'a:1:2',
        expected: 'x',
        got: 'y',
        fix: 'do z',
        exit_code: 3,
      }),
    ]);
    expect(stdout.text).toBe('');
  });

  it('is for people on a terminal, unless lines are wanted there too', () => {
    const people = aTerminal({ stderr: 'auto' });
    people.terminal.say('hello');
    expect(people.stderr.text).toBe('hello\n');
    expect(people.terminal.isLog).toBe(false);
    const lines = aTerminal({ stderr: 'lines' });
    lines.terminal.say(lines.terminal.humanColours.red('hello'));
    expect(JSON.parse(lines.stderr.text)).toMatchObject({ message: 'hello' });
    const text = aTerminal({ isTTY: false, stderr: 'text' });
    text.terminal.say('hello');
    expect(text.stderr.text).toBe('hello\n');
  });
});

describe('--jsonl', () => {
  it('has one line for each thing, also on a terminal, and errors as one', () => {
    const { terminal, stdout } = aTerminal({ jsonl: true });
    expect(terminal.isJson).toBe(true);
    terminal.printJsonList([{ a: 1 }, { b: [2] }], { all: true });
    terminal.fail(failure);
    expect(stdout.text.split('\n').slice(0, 2)).toEqual(['{"a":1}', '{"b":[2]}']);
    expect(JSON.parse(stdout.text.split('\n')[2] ?? '')).toMatchObject({ error: { exit_code: 3 } });
  });

  it('is not --json, which has one document', () => {
    const { terminal, stdout } = aTerminal({ isTTY: false, json: true });
    terminal.printJsonList([1, 2], { all: [1, 2] });
    expect(stdout.text).toBe('{"all":[1,2]}\n');
  });
});

describe('percentText', () => {
  it.each([
    [1, '100.0 %'],
    [0.5, '50.0 %'],
    [0.0005, '0.1 %'],
    [0.000499, '0.05 %'],
    [0.00002, '0.002 %'],
    [1e-9, '< 0.0001 %'],
    [0, '0.0 %'],
  ])('of %d is %s: nothing that is there reads as nothing', (ratio, text) => {
    expect(percentText(ratio)).toBe(text);
  });
});
