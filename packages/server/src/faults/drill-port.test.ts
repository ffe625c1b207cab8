import { expect, it } from 'vitest';
import { drillDesk } from './drill-port.ts';
import { FaultBoard } from './fault-board.ts';
import { targetWithDrills } from './full-disk.ts';

function desk(enabled = true) {
  const board = new FaultBoard({
    enabled,
    clock: { now: () => 0, wallTimeMs: () => 0 },
    runners: () => [
      {
        model: 'digits',
        version: '1',
        variant: 'fp32',
        id: 'fp32-0.1',
        pid: 7,
        serves: true,
        inject: () => {},
        relieve: () => {},
      },
    ],
  });
  return { board, desk: drillDesk(board) };
}

it('A fault is shown in the terms in which it was asked for', () => {
  const { desk: drills, board } = desk();
  const shown = drills.inject({ kind: 'leak', model: 'digits', bytes_per_batch: 4096, duration_ms: 50 });
  expect(shown).toEqual({
    id: 1,
    kind: 'leak',
    state: 'active',
    target: { model: 'digits' },
    settings: { bytes_per_batch: 4096 },
    started: '1970-01-01T00:00:00.000Z',
    duration_ms: 50,
    runners: ['digits/1/fp32-0.1'],
  });
  expect(drills.faults()).toEqual({ enabled: true, faults: [shown] });
  expect(drills.clear('1')).toEqual({ cleared: 1 });
  expect(() => drills.clear('first')).toThrow('expected its number');
  board.close();
});

it('Where drills are off, that is said before what is wrong with the fault', () => {
  const { desk: drills } = desk(false);
  expect(() => drills.inject({ kind: 'no such' })).toThrow('drills are off');
  expect(drills.faults()).toEqual({ enabled: false, faults: [] });
});

it('A log on a full disk gets ENOSPC, and its lines again when there is room', async () => {
  const written: string[] = [];
  const disk = { isDiskFull: true };
  const target = targetWithDrills((text, done) => {
    written.push(text);
    done();
  }, disk);
  const write = (text: string) =>
    new Promise<string | undefined>((resolve) => {
      target(text, (error) => resolve((error as NodeJS.ErrnoException | undefined)?.code));
    });
  expect(await write('one')).toBe('ENOSPC');
  disk.isDiskFull = false;
  expect(await write('two')).toBeUndefined();
  expect(written).toEqual(['two']);
});
