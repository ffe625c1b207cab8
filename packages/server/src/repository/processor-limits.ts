import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';

/** Nesting of cgroups that is looked through for limits. */
const MAX_CGROUP_DEPTH = 32;

/** cgroup v1 says "no limit" with a number near 2^63. */
const NO_LIMIT_BYTES = 2 ** 60;

export interface ProcessorLimits {
  /** Cores that the scheduler lets this process use: affinity counted, quota not. */
  readonly schedulable: number;
  /** Cores that the cgroup's quota pays for; undefined when there is none. May be a fraction. */
  readonly quotaCores: number | undefined;
  /** Whole cores to plan with: at least 1. */
  readonly cores: number;
}

/** Cores for this process by affinity and cgroup quota (v1 and v2). `root` replaces `/` in tests. */
export function readProcessorLimits(root = '/', schedulable = availableParallelism()): ProcessorLimits {
  const quotaCores = smallest([quotaV2(root), quotaV1(root)]);
  // Rounded down: threads beyond the quota are throttled together, in the middle of a run.
  const cores = Math.max(1, Math.min(schedulable, Math.floor(quotaCores ?? schedulable)));
  return { schedulable, quotaCores, cores };
}

/** Bytes that the cgroup allows, undefined when there is no limit. */
export function readMemoryLimitBytes(root = '/'): number | undefined {
  const v2 = levels(cgroupPath(root, '')).map((level) =>
    positive(readText(join(root, 'sys/fs/cgroup', level, 'memory.max'))),
  );
  const v1 = levels(cgroupPath(root, 'memory')).map((level) =>
    positive(readText(join(root, 'sys/fs/cgroup/memory', level, 'memory.limit_in_bytes'))),
  );
  return smallest([...v2, ...v1].filter((bytes) => bytes === undefined || bytes < NO_LIMIT_BYTES));
}

/** `cpu.max` holds "quota period" or "max period"; every level of the hierarchy may limit. */
function quotaV2(root: string): number | undefined {
  return smallest(
    levels(cgroupPath(root, '')).map((level) => {
      const [quota, period] = (readText(join(root, 'sys/fs/cgroup', level, 'cpu.max')) ?? '').split(/\s+/);
      return ratio(positive(quota), positive(period));
    }),
  );
}

function quotaV1(root: string): number | undefined {
  return smallest(
    levels(cgroupPath(root, 'cpu')).flatMap((level) =>
      ['cpu', 'cpu,cpuacct'].map((mount) => {
        const folder = join(root, 'sys/fs/cgroup', mount, level);
        return ratio(
          positive(readText(join(folder, 'cpu.cfs_quota_us'))),
          positive(readText(join(folder, 'cpu.cfs_period_us'))),
        );
      }),
    ),
  );
}

/** The process's place in the hierarchy of a controller; "" names the unified one. */
function cgroupPath(root: string, controller: string): string {
  const lines = (readText(join(root, 'proc/self/cgroup')) ?? '').split('\n');
  for (const line of lines) {
    const [, controllers = '', path = '/'] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    if (controller === '' ? line.startsWith('0::') : controllers.split(',').includes(controller)) return path;
  }
  return '/';
}

/** A path and all above it. Inside a container the path may be the host's: then only the root of the mount is there. */
function levels(path: string): string[] {
  const parts = path.split('/').filter((part) => part !== '' && part !== '..');
  const depth = Math.min(parts.length, MAX_CGROUP_DEPTH);
  return Array.from({ length: depth + 1 }, (_, index) => parts.slice(0, depth - index).join('/'));
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return undefined;
  }
}

function positive(text: string | undefined): number | undefined {
  const value = Number(text);
  return text !== undefined && text !== '' && Number.isFinite(value) && value > 0 ? value : undefined;
}

function ratio(quota: number | undefined, period: number | undefined): number | undefined {
  return quota === undefined || period === undefined ? undefined : quota / period;
}

function smallest(values: readonly (number | undefined)[]): number | undefined {
  return values.reduce(
    (least, value) => (value !== undefined && (least === undefined || value < least) ? value : least),
    undefined,
  );
}
