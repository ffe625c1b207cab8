import { describe, expect, it } from 'vitest';
import { readSmiOutput } from './smi-output.ts';

const LINE = '0, GPU-4c1f, NVIDIA H200, 143771, 1024, 142747, 37, 12, 55, 312.50, 700.00, 0, 570.86.15';

describe('What nvidia-smi prints', () => {
  it('is read in base units', () => {
    expect(readSmiOutput(LINE)).toMatchObject({
      driver: '570.86.15',
      devices: [
        {
          index: 0,
          uuid: 'GPU-4c1f',
          name: 'NVIDIA H200',
          memory: { totalBytes: 143771 * 2 ** 20, usedBytes: 2 ** 30, freeBytes: 142747 * 2 ** 20 },
          busyRatio: 0.37,
          memoryBusyRatio: 0.12,
          temperatureCelsius: 55,
          powerWatts: 312.5,
          powerLimitWatts: 700,
          uncorrectedErrors: 0,
          lost: false,
        },
      ],
    });
  });

  it.each(['[N/A]', '[Not Supported]', 'N/A', 'ERR!', '[Unknown Error]', '[Insufficient Permissions]', ''])(
    'has unknown values where it says "%s"',
    (cell) => {
      const line = ['0', 'GPU-a', 'T4', ...new Array(9).fill(cell), '550.1'].join(', ');
      const [device] = readSmiOutput(line).devices;
      expect(device).toMatchObject({
        uuid: 'GPU-a',
        memory: undefined,
        busyRatio: undefined,
        temperatureCelsius: undefined,
        powerWatts: undefined,
        uncorrectedErrors: undefined,
        lost: false,
      });
    },
  );

  it('has the free memory by subtraction where only that is missing', () => {
    const line = '0, GPU-a, T4, 100, 40, [N/A], 0, 0, 50, 20, 70, [N/A], 450.1';
    expect(readSmiOutput(line).devices[0]?.memory?.freeBytes).toBe(60 * 2 ** 20);
  });

  it('may have units, commas in a name, Windows line ends, warnings around it, and no uuid', () => {
    const text = [
      'WARNING: infoROM is corrupted at gpu 0000:00:1E.0',
      '1, [N/A], Tesla, rev 2, 100 MiB, 40 MiB, 60 MiB, 5 %, 1 %, 50, 20.5 W, 70 W, 3, 550.1',
      '',
    ].join('\r\n');
    expect(readSmiOutput(text).devices).toMatchObject([
      {
        index: 1,
        uuid: 'index-1',
        name: 'Tesla, rev 2',
        memory: { totalBytes: 100 * 2 ** 20 },
        busyRatio: 0.05,
        powerWatts: 20.5,
        uncorrectedErrors: 3,
      },
    ]);
  });

  it('shows a lost device', () => {
    const line = ['0', 'GPU-a', 'T4', ...new Array(9).fill('[GPU requires reset]'), '550.1'].join(', ');
    expect(readSmiOutput(line).devices[0]?.lost).toBe(true);
  });

  it('is nothing where it is something else', () => {
    expect(readSmiOutput('NVIDIA-SMI has failed because it could not communicate').devices).toEqual([]);
    expect(readSmiOutput('{"gpus": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]}').devices).toEqual([]);
  });
});
