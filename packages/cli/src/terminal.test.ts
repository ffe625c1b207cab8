import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { bar } from './answer-text.ts';
import { overlaySvg } from './drawing.ts';
import { EXIT } from './exit-code.ts';
import { Failure } from './failure.ts';
import { Terminal } from './terminal.ts';

class Recorder extends Writable {
  text = '';
  readonly isTTY: boolean;

  constructor(isTTY: boolean) {
    super();
    this.isTTY = isTTY;
  }

  override _write(chunk: Buffer | string, _encoding: string, done: () => void): void {
    this.text += chunk.toString();
    done();
  }
}

function aTerminal({ isTTY = true, json = false, environment = {} as Record<string, string> } = {}) {
  const stdout = new Recorder(isTTY);
  const stderr = new Recorder(isTTY);
  return {
    stdout,
    stderr,
    terminal: new Terminal({ stdout, stderr, stdin: { isTTY }, environment }, { json }),
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
