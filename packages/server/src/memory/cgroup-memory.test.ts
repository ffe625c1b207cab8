import { describe, expect, it } from 'vitest';
import { CgroupMemory } from './cgroup-memory.ts';

const MIB = 1024 * 1024;

const MEMINFO = 'MemTotal:        1024000 kB\nMemFree:          100000 kB\nMemAvailable:     256000 kB\n';
const PRESSURE =
  'some avg10=31.00 avg60=5.00 avg300=1.00 total=123\nfull avg10=12.50 avg60=2.00 avg300=0.50 total=45\n';
const STAT = `anon 1000\nfile 2000\ninactive_anon 5\nactive_file 7\ninactive_file ${20 * MIB}\n`;

/** A cgroup of version 2, as the kernel shows it inside a container. */
const V2_CONTAINER: Record<string, string> = {
  '/proc/self/cgroup': '0::/\n',
  '/proc/meminfo': MEMINFO,
  '/sys/fs/cgroup/memory.current': `${120 * MIB}\n`,
  '/sys/fs/cgroup/memory.max': `${200 * MIB}\n`,
  '/sys/fs/cgroup/memory.stat': STAT,
  '/sys/fs/cgroup/memory.pressure': PRESSURE,
};

function memoryOf(files: Record<string, string>): CgroupMemory {
  return new CgroupMemory((path) => files[path]);
}

function without(files: Record<string, string>, ...paths: string[]): Record<string, string> {
  return Object.fromEntries(Object.entries(files).filter(([path]) => !paths.includes(path)));
}

describe('CgroupMemory reads version 2', () => {
  it('without the page cache that the kernel would take back, and with its stalls', () => {
    expect(memoryOf(V2_CONTAINER).read()).toEqual({
      source: 'cgroup-v2',
      usedBytes: 100 * MIB,
      limitBytes: 200 * MIB,
      stallRatio: 0.125,
    });
  });

  it('at the level of the hierarchy that is fullest', () => {
    const pod = '/sys/fs/cgroup/kubepods/pod1';
    const files = {
      '/proc/self/cgroup': '0::/kubepods/pod1/main\n',
      [`${pod}/main/memory.current`]: `${50 * MIB}`,
      [`${pod}/main/memory.max`]: `${200 * MIB}`,
      [`${pod}/memory.current`]: `${270 * MIB}`,
      [`${pod}/memory.max`]: `${300 * MIB}`,
      '/sys/fs/cgroup/kubepods/memory.current': `${900 * MIB}`,
      '/sys/fs/cgroup/kubepods/memory.max': 'max',
    };
    expect(memoryOf(files).read()).toMatchObject({ usedBytes: 270 * MIB, limitBytes: 300 * MIB });
  });

  it('where the path is that of the host, at the mount itself', () => {
    const files = { ...V2_CONTAINER, '/proc/self/cgroup': '0::/system.slice/docker-abc.scope\n' };
    expect(memoryOf(files).read()).toMatchObject({ source: 'cgroup-v2', limitBytes: 200 * MIB });
  });

  it('without statistics or stalls when the kernel has none', () => {
    const files = without(V2_CONTAINER, '/sys/fs/cgroup/memory.stat', '/sys/fs/cgroup/memory.pressure');
    expect(memoryOf(files).read()).toMatchObject({ usedBytes: 120 * MIB, stallRatio: undefined });
  });

  it('with the limit of this moment', () => {
    const files = { ...V2_CONTAINER };
    const memory = memoryOf(files);
    files['/sys/fs/cgroup/memory.max'] = `${400 * MIB}`;
    files['/sys/fs/cgroup/memory.current'] = `${320 * MIB}`;
    expect(memory.read()).toMatchObject({ usedBytes: 300 * MIB, limitBytes: 400 * MIB });
  });

  it('with nothing in use rather than less', () => {
    const files = { ...V2_CONTAINER, '/sys/fs/cgroup/memory.current': `${10 * MIB}` };
    expect(memoryOf(files).read().usedBytes).toBe(0);
  });
});

describe('CgroupMemory reads version 1', () => {
  const files: Record<string, string> = {
    '/proc/self/cgroup': '5:cpu,cpuacct:/other\n4:memory:/docker/abc\n0::/\n',
    '/proc/meminfo': MEMINFO,
    '/proc/pressure/memory': PRESSURE,
    '/sys/fs/cgroup/memory/memory.usage_in_bytes': `${120 * MIB}\n`,
    '/sys/fs/cgroup/memory/memory.limit_in_bytes': `${200 * MIB}\n`,
    '/sys/fs/cgroup/memory/memory.stat': `inactive_file 1\ntotal_inactive_file ${30 * MIB}\n`,
  };

  it('with the cache of all groups below, and without stalls, which are the machine’s', () => {
    expect(memoryOf(files).read()).toEqual({
      source: 'cgroup-v1',
      usedBytes: 90 * MIB,
      limitBytes: 200 * MIB,
      stallRatio: undefined,
    });
  });

  it('in the folder of the process where it is seen', () => {
    const folder = '/sys/fs/cgroup/memory/docker/abc';
    const nested = {
      ...files,
      [`${folder}/memory.usage_in_bytes`]: `${60 * MIB}`,
      [`${folder}/memory.limit_in_bytes`]: `${64 * MIB}`,
      '/sys/fs/cgroup/memory/memory.limit_in_bytes': '9223372036854771712',
    };
    expect(memoryOf(nested).read()).toMatchObject({ usedBytes: 60 * MIB, limitBytes: 64 * MIB });
  });

  it('takes the number that means no limit for none', () => {
    const unlimited = { ...files, '/sys/fs/cgroup/memory/memory.limit_in_bytes': '9223372036854771712\n' };
    expect(memoryOf(unlimited).read().source).toBe('machine');
  });
});

describe('CgroupMemory reads the machine', () => {
  it('when no limit stands above the process', () => {
    const files = {
      ...V2_CONTAINER,
      '/sys/fs/cgroup/memory.max': 'max\n',
      '/proc/pressure/memory': PRESSURE,
    };
    expect(memoryOf(files).read()).toEqual({
      source: 'machine',
      usedBytes: 768_000 * 1024,
      limitBytes: 1_024_000 * 1024,
      stallRatio: 0.125,
    });
  });

  it('when there are no cgroups', () => {
    expect(memoryOf({ '/proc/meminfo': MEMINFO }).read()).toMatchObject({
      source: 'machine',
      stallRatio: undefined,
    });
  });

  it('and says so when nothing can be read', () => {
    const nothing = { source: 'none', usedBytes: 0, limitBytes: undefined, stallRatio: undefined };
    expect(memoryOf({}).read()).toEqual(nothing);
    expect(memoryOf({ '/proc/meminfo': 'MemTotal: many kB\n' }).read()).toEqual(nothing);
    const damaged = { ...V2_CONTAINER, '/sys/fs/cgroup/memory.current': 'what', '/proc/meminfo': '' };
    expect(memoryOf(damaged).read()).toEqual(nothing);
  });

  it('it runs on, where it is a Linux machine', () => {
    const reading = new CgroupMemory().read();
    if (process.platform !== 'linux') expect(reading.source).toBe('none');
    else expect(reading.usedBytes).toBeGreaterThan(0);
  });
});
