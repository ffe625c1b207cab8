import type { FaultOrder } from '@gimbal/core';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Fault, FaultRequest } from './fault.ts';
import { type BreakableRunner, FaultBoard, type FaultChange } from './fault-board.ts';

class FakeRunner implements BreakableRunner {
  readonly version = '1';
  readonly variant = 'fp32';
  readonly orders: FaultOrder[] = [];
  readonly relieved: number[] = [];
  readonly model: string;
  readonly id: string;
  readonly pid: number;
  serves = true;

  constructor(model: string, id: string, pid: number) {
    this.model = model;
    this.id = id;
    this.pid = pid;
  }

  inject(order: FaultOrder): void {
    this.orders.push(order);
  }

  relieve({ id }: FaultOrder): void {
    this.relieved.push(id);
  }
}

const HANG: Fault = { kind: 'hang' };

let now = 0;
let runners: FakeRunner[];
let changes: FaultChange[];
let board: FaultBoard;

function request(parts: Partial<FaultRequest> = {}): FaultRequest {
  return { fault: HANG, target: {}, durationMs: 1000, batches: 100, runners: 10, ...parts };
}

function open(enabled = true): FaultBoard {
  return new FaultBoard({
    enabled,
    clock: { now: () => now, wallTimeMs: () => 1e12 + now },
    runners: () => runners,
    onChange: (change) => changes.push(change),
  });
}

beforeEach(() => {
  vi.useFakeTimers();
  now = 0;
  changes = [];
  runners = [
    new FakeRunner('digits', 'fp32-0.1', 10),
    new FakeRunner('digits', 'fp32-1.1', 11),
    new FakeRunner('faces', 'fp32-0.1', 12),
  ];
  board = open();
});

afterEach(() => {
  board.close();
  vi.useRealTimers();
});

function broken(): number[] {
  return runners.filter(({ orders }) => orders.length > 0).map(({ pid }) => pid);
}

describe('FaultBoard', () => {
  it('breaks the runners of a model, and no others', () => {
    board.inject(request({ target: { model: 'digits' } }));
    expect(broken()).toEqual([10, 11]);
  });

  it('breaks all runners when no target is named, also those of the same id in another model', () => {
    board.inject(request());
    expect(broken()).toEqual([10, 11, 12]);
  });

  it('breaks one runner by its process id', () => {
    board.inject(request({ target: { runner: '11' } }));
    expect(broken()).toEqual([11]);
  });

  it('breaks no more runners than it is told to', () => {
    board.inject(request({ target: { model: 'digits' }, runners: 1 }));
    expect(broken()).toEqual([10]);
    runners = runners.slice(1);
    vi.advanceTimersByTime(100);
    expect(broken()).toEqual([]);
  });

  it('breaks runners that come meanwhile, once they serve, for what is left of its time', () => {
    board.inject(request({ target: { model: 'digits' } }));
    const late = new FakeRunner('digits', 'fp32-0.2', 20);
    late.serves = false;
    runners.push(late);
    now = 300;
    vi.advanceTimersByTime(100);
    expect(late.orders).toEqual([]);
    late.serves = true;
    vi.advanceTimersByTime(100);
    expect(late.orders).toMatchObject([{ durationMs: 700 }]);
  });

  it('ends a fault by itself, tells the runners, and then looks at nothing any more', () => {
    board.inject(request());
    now = 1000;
    vi.advanceTimersByTime(100);
    expect(runners[0]?.relieved).toEqual([1]);
    expect(board.views).toMatchObject([{ id: 1, state: 'expired' }]);
    expect(vi.getTimerCount()).toBe(0);
    expect(changes.map(({ kind }) => kind)).toEqual(['injected', 'ended']);
  });

  it('kills once: a runner that comes back lives', () => {
    board.inject(request({ fault: { kind: 'kill' }, target: { model: 'digits' }, runners: 1 }));
    runners[0] = new FakeRunner('digits', 'fp32-0.2', 20);
    vi.advanceTimersByTime(500);
    expect(broken()).toEqual([]);
    expect(board.views).toMatchObject([{ state: 'expired', runners: ['digits/1/fp32-0.1'] }]);
  });

  it('clears one fault, or all that are left', () => {
    for (let count = 0; count < 3; count += 1) board.inject(request());
    expect(board.clear(2)).toBe(1);
    expect(board.clear(2)).toBe(0);
    expect(board.clear()).toBe(2);
    expect(runners[0]?.relieved).toEqual([2, 1, 3]);
  });

  it('is a full disk while such a fault is active', () => {
    board.inject(request({ fault: { kind: 'disk-full' } }));
    expect(board.isDiskFull).toBe(true);
    now = 1000;
    expect(board.isDiskFull).toBe(false);
    expect(broken()).toEqual([]);
  });

  it('refuses everything where drills are off, and says what to configure', () => {
    const closed = open(false);
    expect(() => closed.inject(request())).toThrow('expected "drills: true" in the configuration');
    expect(() => closed.clear()).toThrow('drills are off');
    expect(closed.views).toEqual([]);
    expect(broken()).toEqual([]);
  });

  it('refuses a fault that no runner fits', () => {
    expect(() => board.inject(request({ target: { model: 'digit' } }))).toThrow(
      'no runner fits model "digit"',
    );
  });

  it('holds a bounded number of faults, and of those that have ended', () => {
    for (let count = 0; count < 32; count += 1) board.inject(request());
    expect(() => board.inject(request())).toThrow('32 are active');
    now = 1000;
    for (let count = 0; count < 32; count += 1) board.inject(request({ fault: { kind: 'kill' } }));
    expect(board.views).toHaveLength(32);
  });
});
