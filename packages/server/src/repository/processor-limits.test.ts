import { afterEach, beforeEach, expect, it } from 'vitest';
import { readMemoryLimitBytes, readProcessorLimits } from './processor-limits.ts';
import { TemporaryFolder } from './testing/temporary-folder.ts';

let root: TemporaryFolder;

beforeEach(() => {
  root = new TemporaryFolder();
});

afterEach(() => root.remove());

it('without cgroups the schedulable cores count', () => {
  expect(readProcessorLimits(root.path, 6)).toEqual({ schedulable: 6, quotaCores: undefined, cores: 6 });
});

it('a cgroup v2 quota is rounded down to whole cores', () => {
  root.write('proc/self/cgroup', '0::/\n');
  root.write('sys/fs/cgroup/cpu.max', '250000 100000\n');
  expect(readProcessorLimits(root.path, 8)).toMatchObject({ quotaCores: 2.5, cores: 2 });
});

it('the tightest level of a cgroup v2 hierarchy counts', () => {
  root.write('proc/self/cgroup', '0::/kubepods/pod1/container\n');
  root.write('sys/fs/cgroup/kubepods/pod1/container/cpu.max', 'max 100000\n');
  root.write('sys/fs/cgroup/kubepods/pod1/cpu.max', '300000 100000\n');
  root.write('sys/fs/cgroup/kubepods/cpu.max', '800000 100000\n');
  expect(readProcessorLimits(root.path, 16).cores).toBe(3);
});

it('a cgroup v1 quota counts, also where the path is that of the host', () => {
  root.write('proc/self/cgroup', '4:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n');
  root.write('sys/fs/cgroup/cpu/cpu.cfs_quota_us', '150000\n');
  root.write('sys/fs/cgroup/cpu/cpu.cfs_period_us', '100000\n');
  expect(readProcessorLimits(root.path, 4)).toMatchObject({ quotaCores: 1.5, cores: 1 });
});

it('a cgroup v1 quota of -1 is none', () => {
  root.write('proc/self/cgroup', '3:cpu:/\n');
  root.write('sys/fs/cgroup/cpu/cpu.cfs_quota_us', '-1\n');
  root.write('sys/fs/cgroup/cpu/cpu.cfs_period_us', '100000\n');
  expect(readProcessorLimits(root.path, 4)).toMatchObject({ quotaCores: undefined, cores: 4 });
});

it('less than a core is still one core', () => {
  root.write('proc/self/cgroup', '0::/\n');
  root.write('sys/fs/cgroup/cpu.max', '20000 100000\n');
  expect(readProcessorLimits(root.path, 4)).toMatchObject({ quotaCores: 0.2, cores: 1 });
});

it('memory limits are read from both hierarchies, and "no limit" is none', () => {
  expect(readMemoryLimitBytes(root.path)).toBeUndefined();
  root.write('proc/self/cgroup', '4:memory:/a\n0::/b\n');
  root.write('sys/fs/cgroup/b/memory.max', 'max\n');
  root.write('sys/fs/cgroup/memory/a/memory.limit_in_bytes', '9223372036854771712\n');
  expect(readMemoryLimitBytes(root.path)).toBeUndefined();
  root.write('sys/fs/cgroup/memory/a/memory.limit_in_bytes', '536870912\n');
  expect(readMemoryLimitBytes(root.path)).toBe(536_870_912);
});
