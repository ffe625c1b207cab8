import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import type { DeviceReading } from './device-reading.ts';
import { MONITOR_MAIN } from './monitor-child.ts';
import { MAX_PROCESSES, type MonitorFrame, readFrame } from './monitor-frame.ts';
import type { MonitorOptions } from './monitor-options.ts';
import { COMPILER, FakeNvml, FakeSmi } from './testing/fake-nvml.ts';

const fakes: { remove(): void }[] = [];
afterEach(() => {
  for (const fake of fakes.splice(0)) fake.remove();
});

function nvml(...directives: readonly string[]): FakeNvml {
  const fake = new FakeNvml(...directives);
  fakes.push(fake);
  return fake;
}

function smi(script: string): FakeSmi {
  const fake = new FakeSmi(script);
  fakes.push(fake);
  return fake;
}

/** What the real monitor, in a process of its own, says at one look. */
async function look(options: Partial<MonitorOptions>): Promise<MonitorFrame | undefined> {
  const argument = JSON.stringify({ ...options, once: true });
  const { stdout } = await promisify(execFile)(process.execPath, [MONITOR_MAIN, argument]);
  return readFrame(stdout.trim());
}

async function devicesOf(options: Partial<MonitorOptions>): Promise<readonly DeviceReading[]> {
  const frame = await look(options);
  if (frame?.kind !== 'sample') throw new Error(`expected a sample, got ${JSON.stringify(frame)}`);
  return frame.devices;
}

it('The machine of these tests has a C compiler, or says that NVML is not tested', () => {
  if (COMPILER === undefined) process.stderr.write('No C compiler: the NVML monitor is not tested here\n');
  expect(['cc', 'gcc', 'clang', undefined]).toContain(COMPILER);
});

describe.skipIf(COMPILER === undefined)('The monitor on NVML', () => {
  it('tells everything that the library tells, in base units', async () => {
    const { library } = nvml('devices 1', 'processes 3', 'xid 1 0 79');
    expect(await look({ library })).toEqual({
      kind: 'sample',
      source: 'nvml',
      driver: '570.00.01',
      devices: [
        {
          index: 0,
          uuid: 'GPU-fake-0',
          name: 'Fake H100',
          memory: { totalBytes: 80 * 2 ** 30, usedBytes: 2 ** 30, freeBytes: 79 * 2 ** 30 },
          busyRatio: 0.37,
          memoryBusyRatio: 0.12,
          temperatureCelsius: 55,
          slowdownCelsius: 92,
          powerWatts: 312.5,
          powerLimitWatts: 700,
          energyJoules: 5_000_000,
          uncorrectedErrors: 2,
          xids: [79],
          processes: [
            { pid: 1002, usedBytes: 2 * 2 ** 20 },
            { pid: 1001, usedBytes: 2 ** 20 },
            { pid: 1000, usedBytes: undefined },
          ],
          lost: false,
        },
      ],
    });
  });

  it('keeps several devices apart, and gives an error to the one that raised it', async () => {
    const { library } = nvml('devices 3', 'memory 2 1000 900', 'xid 1 1 48', 'xid 2 1 48', 'xid 3 2 31');
    const devices = await devicesOf({ library });
    expect(devices.map(({ uuid, memory, xids }) => [uuid, memory?.freeBytes, xids])).toEqual([
      ['GPU-fake-0', 79 * 2 ** 30, []],
      ['GPU-fake-1', 79 * 2 ** 30, [48]],
      ['GPU-fake-2', 100, [31]],
    ]);
  });

  it.each([
    ['without permission', 'fail nvmlDeviceGetComputeRunningProcesses_v3 4'],
    ['where it is not supported', 'fail nvmlDeviceGetComputeRunningProcesses_v3 3'],
    ['where the driver has no such function', 'fail nvmlDeviceGetComputeRunningProcesses_v3 13'],
    ['when it grows with each call', 'growing 1'],
    ['when it is absurdly long', 'processes 100000'],
  ])('a process list %s is unknown, and the device works by its memory', async (_, directive) => {
    const { library } = nvml('devices 1', directive);
    const [device] = await devicesOf({ library });
    expect(device).toMatchObject({ processes: undefined, lost: false, memory: { totalBytes: 80 * 2 ** 30 } });
  });

  it.each([
    ['which is told', []],
    ['which is not told', ['silent-size 1']],
  ])('a longer process list than expected is asked for again with the room %s', async (_, extra) => {
    const { library } = nvml('devices 1', 'processes 300', ...extra);
    const [device] = await devicesOf({ library });
    expect(device?.processes).toHaveLength(MAX_PROCESSES);
    expect(device?.processes?.[0]).toEqual({ pid: 1299, usedBytes: 299 * 2 ** 20 });
  });

  it.each([
    ['nvmlDeviceGetMemoryInfo', { memory: undefined }],
    ['nvmlDeviceGetUtilizationRates', { busyRatio: undefined, memoryBusyRatio: undefined }],
    ['nvmlDeviceGetTemperature', { temperatureCelsius: undefined }],
    ['nvmlDeviceGetTemperatureThreshold', { slowdownCelsius: undefined }],
    ['nvmlDeviceGetPowerUsage', { powerWatts: undefined }],
    ['nvmlDeviceGetEnforcedPowerLimit', { powerLimitWatts: undefined }],
    ['nvmlDeviceGetTotalEnergyConsumption', { energyJoules: undefined }],
    ['nvmlDeviceGetTotalEccErrors', { uncorrectedErrors: undefined }],
    ['nvmlDeviceGetName', { name: 'NVIDIA device' }],
    ['nvmlDeviceGetUUID', { uuid: 'index-0' }],
    ['nvmlEventSetCreate', { xids: [] }],
    ['nvmlDeviceRegisterEvents', {}],
  ])('a failure of %s leaves a gap and nothing else', async (name, gap) => {
    const { library } = nvml('devices 1');
    const [whole] = await devicesOf({ library });
    const { library: failing } = nvml('devices 1', `fail ${name} 999`);
    expect(await devicesOf({ library: failing })).toEqual([{ ...whole, ...gap }]);
  });

  it('a device that fell off the bus is lost, the others are not', async () => {
    const { library } = nvml('devices 2', 'fail nvmlDeviceGetHandleByIndex_v2:1 15');
    const devices = await devicesOf({ library });
    expect(devices.map(({ lost }) => lost)).toEqual([false, true]);
  });

  it('a library that does not start leaves the CPU, with the reason', async () => {
    const { library } = nvml('fail nvmlInit_v2 9');
    expect(await look({ library })).toEqual({
      kind: 'cpu-only',
      reason: expect.stringMatching(
        /^NVML can't be initialised: Driver Not Loaded; nvidia-smi was not found/,
      ),
    });
    const { library: empty } = nvml('devices 0');
    expect(await look({ library: empty })).toMatchObject({
      kind: 'cpu-only',
      reason: expect.stringContaining('lists no device'),
    });
  });

  it('where NVML fails, nvidia-smi is asked', async () => {
    const { library } = nvml('fail nvmlInit_v2 9');
    const { program } = smi('echo "0, GPU-a, T4, 100, 40, 60, 5, 1, 50, 20, 70, 0, 550.1"');
    expect(await look({ library, smi: program })).toMatchObject({
      source: 'nvidia-smi',
      devices: [{ uuid: 'GPU-a', processes: undefined }],
    });
  });
});

describe('The monitor on nvidia-smi', () => {
  it('ends a program that hangs', async () => {
    const { program } = smi('exec sleep 1000');
    expect(await look({ smi: program, smiLimitMs: 200 })).toEqual({
      kind: 'trouble',
      reason: 'nvidia-smi did not answer within 200 ms and was ended',
    });
  });

  it.each([
    ['fails', 'echo "No devices were found" >&2; exit 6', 'nvidia-smi failed (6): No devices were found'],
    ['prints nothing', 'true', 'nvidia-smi listed no device'],
    ['floods', 'exec yes', 'nvidia-smi printed over 262144 bytes'],
  ])('tells the reason when it %s', async (_, script, reason) => {
    const { program } = smi(script);
    expect(await look({ smi: program })).toEqual({ kind: 'trouble', reason });
  });
});

describe('The monitor without a driver', () => {
  it('says what was looked for', async () => {
    expect(await look({ library: '/nowhere/libnvidia-ml.so.1' })).toEqual({
      kind: 'cpu-only',
      reason: 'no NVIDIA driver was found (looked for /nowhere/libnvidia-ml.so.1)',
    });
  });

  it('says that a file is no library', async () => {
    expect(await look({ library: MONITOR_MAIN })).toMatchObject({
      kind: 'cpu-only',
      reason: expect.stringContaining("NVML can't be loaded"),
    });
  });
});
