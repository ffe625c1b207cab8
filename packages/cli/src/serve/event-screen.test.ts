import type { HostEvent } from '@gimbal/server';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Terminal, type TerminalOptions } from '../terminal.ts';
import { Recorder } from '../testing/in-process.ts';
import { EventScreen } from './event-screen.ts';

const READY: HostEvent = {
  event: 'ready',
  http: 'http://127.0.0.1:1',
  grpc: '127.0.0.1:8001',
  admin: 'http://127.0.0.1:2',
  pid: 3,
};
const EVENTS: readonly HostEvent[] = [
  { event: 'model', model: 'm', version: '1', state: 'ready' },
  READY,
  { event: 'draining' },
  { event: 'stopped' },
];

function aScreen(options: TerminalOptions, isTTY: boolean) {
  const stdout = new Recorder(isTTY);
  const stderr = new Recorder(isTTY);
  const terminal = new Terminal({ stdout, stderr, stdin: {}, environment: {} }, options);
  const host = { catalogue: () => [] };
  const screen = new EventScreen(terminal, { cwd: '/', version: '0.0.0' }, () => host);
  return { screen, stdout, stderr };
}

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

it('people see one page when all is ready, behind the lines of the log, then what becomes of the server', () => {
  const { screen, stdout, stderr } = aScreen({ json: false, stderr: 'auto' }, true);
  for (const event of EVENTS.slice(0, 2)) screen.show(event);
  screen.hostStarted();
  stderr.write('a line of the log\n');
  vi.advanceTimersByTime(1000);
  for (const event of EVENTS.slice(2)) screen.show(event);
  vi.advanceTimersByTime(1000);
  expect(stderr.text).toMatch(/^a line of the log\n/);
  expect(stderr.text.match(/is ready/g)).toHaveLength(1);
  expect(stderr.text).toContain('http://127.0.0.1:1/docs');
  expect(stderr.text).toMatch(/Draining.*\nStopped\n$/);
  expect(stdout.text).toBe('');
});

it('a log has no page: one JSON object for each event that it does not tell by itself', () => {
  const { screen, stdout, stderr } = aScreen({ json: false, stderr: 'auto' }, false);
  for (const event of EVENTS) screen.show(event);
  screen.hostStarted();
  vi.advanceTimersByTime(1000);
  const lines = stderr.text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as object);
  expect(lines).toEqual([
    expect.objectContaining({ ...READY, level: 'info', message: 'Gimbal is ready', version: '0.0.0' }),
    expect.objectContaining({ event: 'draining', message: expect.any(String) }),
    expect.objectContaining({ event: 'stopped' }),
  ]);
  expect(stdout.text).toBe('');
});

it.each([true, false])(
  'with --json events are lines of stdout and nothing else, on a terminal: %s',
  (isTTY) => {
    const { screen, stdout, stderr } = aScreen({ json: true, stderr: 'auto' }, isTTY);
    for (const event of EVENTS) screen.show(event);
    screen.hostStarted();
    const lines = stdout.text.trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line))).toEqual(EVENTS);
    expect(stderr.text).toBe('');
  },
);

it('the page names the gRPC address where there is one', () => {
  for (const grpc of [null, '127.0.0.1:9']) {
    const { screen, stderr } = aScreen({ json: false, stderr: 'auto' }, true);
    screen.show({ ...READY, grpc } as HostEvent);
    vi.advanceTimersByTime(1000);
    expect(stderr.text.includes('127.0.0.1:9')).toBe(grpc !== null);
  }
});

it('nothing is drained where nothing was served, and the reason is kept for the end', () => {
  const { screen, stderr } = aScreen({ json: false, stderr: 'auto' }, true);
  screen.show({ event: 'unusable', reason: 'Cannot load m: broken' });
  for (const event of EVENTS.slice(2)) screen.show(event);
  expect(stderr.text).toBe('');
  expect(screen.unusable).toBe('Cannot load m: broken');
});
