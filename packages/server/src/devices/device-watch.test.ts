import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { gone } from '../supervisor/testing/process-state.ts';
import { COMPILER, FakeNvml, FakeSmi } from './testing/fake-nvml.ts';
import { quickRestarts, WatchHarness } from './testing/watch-harness.ts';

const BROKEN_MONITOR = fileURLToPath(new URL('./testing/broken-monitor.ts', import.meta.url));
const ORPHAN_WATCHER = fileURLToPath(new URL('./testing/orphan-watcher.ts', import.meta.url));

let harness: WatchHarness | undefined;
afterEach(() => harness?.watch.stop());

function started(options: ConstructorParameters<typeof WatchHarness>[0]): WatchHarness {
  harness = new WatchHarness(options);
  harness.watch.start();
  return harness;
}

describe('A watch where there is no driver', () => {
  it('starts nothing and says what was looked for', () => {
    const { watch, states } = started({ places: { library: '/nowhere/libnvidia-ml.so.1' } });
    expect(watch.pid).toBeUndefined();
    expect(states).toEqual([
      {
        kind: 'cpu-only',
        reason: 'no NVIDIA driver was found (looked for /nowhere/libnvidia-ml.so.1)',
      },
    ]);
    expect(watch.latest()).toBeUndefined();
  });

  it('is final when the monitor finds that the driver does not work', async () => {
    const { watch, reached, states } = started({ places: { library: ORPHAN_WATCHER } });
    expect((await reached('cpu-only')).reason).toContain("NVML can't be loaded");
    expect(states.map(({ kind }) => kind)).toEqual(['starting', 'cpu-only']);
    expect(watch.pid).toBeUndefined();
  });
});

describe.skipIf(COMPILER === undefined)('A watch on a driver', () => {
  let fake: FakeNvml;
  beforeEach(() => {
    fake = new FakeNvml('devices 2');
  });
  afterEach(() => fake.remove());

  it('keeps the latest sample, sees changes, and leaves no process behind', async () => {
    const { watch, until, reached, samples, states } = started({ places: fake });
    await reached('watching');
    fake.set('devices 2', 'temperature 1 90');
    await until(() => samples.at(-1)?.devices[1]?.temperatureCelsius === 90);
    expect(watch.latest()?.sample).toBe(samples.at(-1));
    const { pid = 0 } = watch;
    await watch.stop();
    expect(await gone(pid)).toBe(true);
    expect(states.map(({ kind }) => kind)).toEqual(['starting', 'watching', 'stopped']);
  });

  it('tells an error once', async () => {
    const { until, reached, samples } = started({ places: fake });
    await reached('watching');
    fake.set('devices 2', 'xid 1 1 79');
    const told = () => samples.flatMap(({ devices }) => devices.flatMap(({ xids }) => xids));
    await until(() => told().length > 0);
    const count = samples.length;
    await until(() => samples.length > count + 3);
    expect(told()).toEqual([79]);
  });

  it('keeps the identity of a device that falls off the bus', async () => {
    const { until, reached, samples } = started({ places: fake });
    await reached('watching');
    fake.set('devices 2', 'fail nvmlDeviceGetHandleByIndex_v2:1 15');
    await until(() => samples.at(-1)?.devices[1]?.lost === true);
    expect(samples.at(-1)?.devices[1]).toMatchObject({ uuid: 'GPU-fake-1', name: 'Fake H101' });
  });

  it.each(['crash', 'hang'])('outlives a %s of the library, and watches again', async (fault) => {
    const restarts = quickRestarts(1000);
    const limits = fault === 'hang' ? { silenceMs: 600 } : {};
    const { watch, until, reached, samples, states } = started({ places: fake, restarts, limits });
    await reached('watching');
    const first = watch.pid;
    fake.set('devices 2', `${fault} nvmlDeviceGetTemperature`);
    const { reason } = await reached('restarting');
    expect(reason).toBe(fault === 'crash' ? 'signal SIGABRT' : 'it was silent and was ended');
    fake.set('devices 1');
    await until(() => samples.at(-1)?.devices.length === 1);
    expect(watch.pid).not.toBe(first);
    expect(states.at(-1)?.kind).toBe('watching');
  });

  it('blames no monitor for a silence in which the host itself was away', async () => {
    const limits = { silenceMs: 1000 };
    const { watch, until, reached, samples, states } = started({ places: fake, limits });
    await reached('watching');
    const { pid } = watch;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500);
    // What was written meanwhile waits in the pipe; only this comes from a monitor that still lives.
    fake.set('devices 1');
    await until(() => samples.at(-1)?.devices.length === 1 || states.length > 2);
    expect(watch.pid).toBe(pid);
    expect(states.map(({ kind }) => kind)).toEqual(['starting', 'watching']);
  });

  it('tells once that it is unmonitored, keeps the old sample, and comes back', async () => {
    const restarts = quickRestarts(3);
    const { watch, until, reached, samples, states, troubles } = started({ places: fake, restarts });
    await reached('watching');
    fake.set('crash nvmlDeviceGetCount_v2');
    await reached('unmonitored');
    const ends = troubles.length;
    await until(() => troubles.length >= ends + 2);
    expect(states.filter(({ kind }) => kind === 'unmonitored')).toHaveLength(1);
    expect(watch.latest()?.sample).toBe(samples.at(-1));
    fake.set('devices 1');
    await until(() => watch.state.kind === 'watching');
  });

  it('gives a monitor up that was started often enough, and starts it no more', async () => {
    const restarts = quickRestarts(1);
    fake.set('crash nvmlInit_v2');
    const { watch, until, troubles } = started({ places: fake, restarts });
    await until(() => troubles.length === 13);
    expect(watch.pid).toBeUndefined();
    expect(watch.state.kind).toBe('unmonitored');
  }, 60_000);

  it.each([false, true])(
    'leaves no monitor behind when the host is killed (driver hangs: %s)',
    async (hangs) => {
      const host = spawn(process.execPath, [ORPHAN_WATCHER, fake.library], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const [line] = (await once(host.stdout, 'data')) as [Buffer];
      if (hangs) {
        fake.set('hang nvmlDeviceGetTemperature');
        await fake.hung();
      }
      host.kill('SIGKILL');
      expect(await gone(Number(line.toString()))).toBe(true);
    },
  );

  it('ends a hung monitor when it is stopped', async () => {
    const limits = { silenceMs: 60_000, stopMs: 100 };
    const { watch, reached } = started({ places: fake, limits });
    await reached('watching');
    const { pid = 0 } = watch;
    fake.set('devices 1', 'hang nvmlDeviceGetTemperature');
    await fake.hung();
    await watch.stop();
    expect(await gone(pid)).toBe(true);
  });
});

describe('A watch through nvidia-smi', () => {
  it('outlives a hang of it, told as trouble, without losing the monitor', async () => {
    const good = 'echo "0, GPU-a, T4, 100, 40, 60, 5, 1, 50, 20, 70, 0, 550.1"';
    const fake = new FakeSmi(good);
    const limits = { smiLimitMs: 300, silenceMs: 10_000 };
    const { watch, until, reached, samples, troubles } = started({
      places: { smi: fake.program },
      limits,
    });
    await reached('watching');
    const { pid } = watch;
    fake.set('exec sleep 1000');
    await until(() => troubles.length > 0);
    fake.set(good);
    const count = samples.length;
    await until(() => samples.length > count);
    fake.remove();
    expect(troubles[0]).toBe('nvidia-smi did not answer within 300 ms and was ended');
    expect(watch.pid).toBe(pid);
  });
});

describe('A watch on a program that is no monitor', () => {
  it.each([
    ['a line without end', '/dev/zero', 'it broke its protocol and was ended'],
    ['a sample without its members', '/dev/null', 'it broke its protocol and was ended'],
    ['an end without a word', '/dev/full', 'exit code 0'],
  ])('ends it and starts another: %s', async (_, library, reason) => {
    const options = { program: BROKEN_MONITOR, places: { library }, restarts: quickRestarts(1000) };
    const { reached } = started(options);
    expect(await reached('restarting')).toEqual({ kind: 'restarting', reason });
  });
});
