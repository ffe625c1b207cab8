import { chmodSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WorkingFolder } from '../testing/command-line.ts';
import { FakeServer } from '../testing/fake-server.ts';
import { gimbalInProcess } from '../testing/in-process.ts';

const GIB = 2 ** 30;
const DOCUMENT = {
  monitor: { state: 'watching', reason: null },
  source: 'nvml',
  driver: '570.1',
  sample_age_ms: 12,
  devices: [
    {
      index: 0,
      uuid: 'GPU-a',
      name: 'NVIDIA H200',
      state: 'healthy',
      because: null,
      memory_total_bytes: 140 * GIB,
      memory_used_bytes: 42 * GIB,
      utilization_ratio: 0.375,
      temperature_celsius: 55,
      power_watts: 312.4,
      power_limit_watts: 700,
      runners: ['digits/1/fp32', 'minilm/1/int8'],
    },
    {
      index: 1,
      uuid: 'GPU-b',
      name: 'NVIDIA H200',
      state: 'faulted',
      because: 'the driver reported Xid 79',
      memory_total_bytes: null,
      memory_used_bytes: null,
      utilization_ratio: null,
      temperature_celsius: null,
      power_watts: null,
      power_limit_watts: null,
      runners: [],
    },
  ],
};

describe('devices of a server', () => {
  let server: FakeServer;
  beforeEach(async () => {
    server = new FakeServer({ 'GET /admin/v1/devices': { body: DOCUMENT } });
    await server.start();
  });
  afterEach(() => server.stop());

  it('are a table with what cannot be read as -, and reasons on stderr', async () => {
    const { exitCode, stdout, stderr } = await gimbalInProcess(['devices', '--admin-url', server.url]);
    expect(exitCode).toBe(0);
    expect(stdout.split('\n')).toEqual([
      'DEVICE         MEMORY                        BUSY  TEMP   POWER      STATE    RUNNERS',
      '0 NVIDIA H200  ███░░░░░░░ 42 GiB of 140 GiB  38 %  55 °C  312/700 W  healthy  digits/1/fp32, minilm/1/int8',
      '1 NVIDIA H200  -                             -     -      -          faulted  -',
      '',
    ]);
    expect(stderr).toContain('1 NVIDIA H200: the driver reported Xid 79');
  });

  it('with --json are the server’s document; the address may come from the environment', async () => {
    const environment = { GIMBAL_ADMIN_URL: server.url };
    const { stdout } = await gimbalInProcess(['devices', '--json'], { environment });
    expect(JSON.parse(stdout)).toEqual({ asked: 'server', ...DOCUMENT });
  });

  it('cannot be shown when the named server is not there', async () => {
    const { url } = server;
    await server.stop();
    const { exitCode, stderr } = await gimbalInProcess(['devices', '--admin-url', url]);
    expect(exitCode).toBe(6);
    expect(stderr).toContain('Cannot reach the server');
    await server.start();
  });
});

describe('devices of this machine', () => {
  const folder = new WorkingFolder();
  afterEach(() => folder.remove());

  function nvidiaSmi(script: string): Record<string, string> {
    const program = folder.write('nvidia-smi', `#!/bin/sh\n${script}\n`);
    chmodSync(program, 0o755);
    return { GIMBAL_NVIDIA_SMI: program };
  }

  it('are looked at by one look of the monitor', async () => {
    const environment = nvidiaSmi('echo "0, GPU-a, T4, 1024, 256, 768, 5, [N/A], 50, 20, [N/A], 0, 550.1"');
    const { exitCode, stdout } = await gimbalInProcess(['devices', '--local'], { environment });
    expect(exitCode).toBe(0);
    expect(stdout).toContain('0 T4    ███░░░░░░░ 256 MiB of 1 GiB  5 %   50 °C  20 W   -      -');
    const { stdout: json } = await gimbalInProcess(['devices', '--local', '--json'], { environment });
    expect(JSON.parse(json)).toMatchObject({
      asked: 'driver',
      source: 'nvidia-smi',
      devices: [{ uuid: 'GPU-a', memory_free_bytes: 768 * 2 ** 20, power_limit_watts: null, runners: [] }],
    });
  });

  it('that are none: says so with what was looked for, exit code 0', async () => {
    const environment = { GIMBAL_NVML_LIBRARY: '/nowhere/libnvidia-ml.so.1' };
    const { exitCode, stdout } = await gimbalInProcess(['devices', '--local'], { environment });
    expect({ exitCode, stdout }).toEqual({
      exitCode: 0,
      stdout:
        'No GPU here: models run on the CPU\n  no NVIDIA driver was found (looked for /nowhere/libnvidia-ml.so.1)\n',
    });
    const { stdout: json } = await gimbalInProcess(['devices', '--local', '--json'], { environment });
    expect(JSON.parse(json)).toMatchObject({ monitor: { state: 'cpu-only' }, devices: [] });
  });

  it('whose driver fails: exit code 1 with its words', async () => {
    const environment = nvidiaSmi('echo "Unable to determine the device handle" >&2; exit 15');
    const { exitCode, stderr } = await gimbalInProcess(['devices', '--local'], { environment });
    expect(exitCode).toBe(1);
    expect(stderr).toContain('nvidia-smi failed (15): Unable to determine the device handle');
  });
});
