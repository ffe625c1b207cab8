import { existsSync, readFileSync } from 'node:fs';
import { availableParallelism, freemem, totalmem } from 'node:os';
import { describeByteSize } from '@gimbal/core/config';
import { readMemoryLimitBytes, readProcessorLimits } from '@gimbal/server';
import { type Finding, fail, ok, warn } from './finding.ts';

const NEEDED_NODE = [22, 18] as const;
const TESTED_MAJORS = [22, 24, 26];
const COMFORTABLE_BYTES = 1024 ** 3;
const NEEDED_BYTES = 256 * 1024 ** 2;

/** One watch for each folder and file of the repository; older systems allow 8,192 for a user. */
const COMFORTABLE_WATCHES = 8_192;

/** What systems give at least; runners, sockets of the host and models use some hundred of them. */
const COMFORTABLE_FILES = 1_024;
const FILES_BESIDE_CONNECTIONS = 256;
const TOO_FEW_FILES = ': too few for a server, connections will be refused';

export function nodeVersion(version = process.versions.node): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const isNewEnough = major > NEEDED_NODE[0] || (major === NEEDED_NODE[0] && minor >= NEEDED_NODE[1]);
  if (!isNewEnough) return fail('node', `Node ${version}`, `install Node ${NEEDED_NODE.join('.')} or newer`);
  if (!TESTED_MAJORS.includes(major)) {
    return warn(
      'node',
      `Node ${version}, not tested`,
      `use one of the long-term lines ${TESTED_MAJORS.join(', ')}`,
    );
  }
  return ok('node', `Node ${version} on ${process.platform} ${process.arch}`);
}

export function processors(): Finding {
  const { schedulable, quotaCores, cores } = readProcessorLimits();
  const quota = quotaCores === undefined ? 'no cgroup quota' : `a cgroup quota of ${quotaCores} cores`;
  const found = `${cores} usable of ${availableParallelism()} cores (${schedulable} schedulable, ${quota})`;
  if (quotaCores !== undefined && quotaCores < 1) {
    return warn(
      'cores',
      found,
      'give the container at least one whole core: less is throttled in the middle of runs',
    );
  }
  return ok('cores', found);
}

export function memory(): Finding {
  const limit = readMemoryLimitBytes();
  const available = Math.min(readAvailableBytes() ?? freemem(), limit ?? Number.POSITIVE_INFINITY);
  const bound =
    limit === undefined || limit >= totalmem()
      ? 'no cgroup limit'
      : `cgroup limit ${describeByteSize(limit)}`;
  const found = `${describeByteSize(available)} available of ${describeByteSize(totalmem())}, ${bound}`;
  if (available < NEEDED_BYTES) {
    return fail(
      'memory',
      found,
      `free at least ${describeByteSize(NEEDED_BYTES)}: a runner needs about 100 MiB and its model`,
    );
  }
  if (available < COMFORTABLE_BYTES) return warn('memory', found, 'expect few or small models only');
  return ok('memory', found);
}

/** Each connection is an open file, and runners, models and logs have theirs. */
export function openFiles(maxConnections: number, limits = readText('/proc/self/limits')): Finding {
  const soft = Number(/^Max open files\s+(\d+)/m.exec(limits ?? '')?.[1]);
  if (!Number.isFinite(soft)) return ok('descriptors', 'the limit can not be read here');
  const found = `${soft} open files allowed`;
  const needed = Math.max(COMFORTABLE_FILES, maxConnections + FILES_BESIDE_CONNECTIONS);
  if (soft >= needed) return ok('descriptors', found);
  const raise = `ulimit -n ${needed}`;
  if (soft < COMFORTABLE_FILES) return warn('descriptors', `${found}${TOO_FEW_FILES}`, raise);
  const connections = soft - FILES_BESIDE_CONNECTIONS;
  return warn('descriptors', found, `${raise}, or limits.maxConnections: ${connections}`);
}

/** What a server says when it starts with so few that it will refuse connections; undefined when it has enough. */
export function fewFilesNote(limits?: string): string | undefined {
  const { found, fix } = openFiles(0, limits);
  return fix === undefined ? undefined : `${found}; ${fix}`;
}

export function fileWatches(): Finding {
  const watches = Number(readText('/proc/sys/fs/inotify/max_user_watches'));
  if (!Number.isFinite(watches) || watches === 0)
    return ok('watching', 'changes of files are reported by the system');
  const found = `${watches} file watches allowed`;
  if (watches >= COMFORTABLE_WATCHES) return ok('watching', found);
  return warn(
    'watching',
    found,
    'sysctl fs.inotify.max_user_watches=65536; until then the folder is read again every models.scanIntervalMs',
  );
}

export function nvidia(): Finding {
  const driver = readText('/proc/driver/nvidia/version');
  const version = /Kernel Module\s+(?:for \S+\s+)?([\d.]+)/.exec(driver ?? '')?.[1];
  if (driver !== undefined) return ok('gpu', `NVIDIA driver ${version ?? 'present'}`);
  if (existsSync('/dev/nvidia0')) {
    return warn(
      'gpu',
      'an NVIDIA device without its driver',
      'install the driver, or run the container with --gpus all',
    );
  }
  return ok('gpu', 'none found: models run on the CPU');
}

function readAvailableBytes(): number | undefined {
  const kilobytes = Number(/^MemAvailable:\s+(\d+) kB/m.exec(readText('/proc/meminfo') ?? '')?.[1]);
  return Number.isFinite(kilobytes) ? kilobytes * 1024 : undefined;
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
