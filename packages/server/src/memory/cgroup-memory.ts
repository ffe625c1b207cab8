import { readFileSync } from 'node:fs';
import { cgroupFolders, cgroupPath } from './cgroup-paths.ts';

/** Text of a file; undefined when there is none, or none that may be read. */
export type ReadText = (path: string) => string | undefined;

/** Memory in use beside the limit that it counts against. */
export interface MemoryReading {
  readonly source: 'cgroup-v2' | 'cgroup-v1' | 'machine' | 'none';
  /** What the kernel can't simply take back: page cache that nobody used lately is left out. */
  readonly usedBytes: number;
  /** Undefined when nothing could be read. */
  readonly limitBytes: number | undefined;
  /** Share of the last ten seconds in which nobody could run for want of memory; undefined where it is not counted. */
  readonly stallRatio: number | undefined;
}

/** What one kind of cgroup calls its files. */
interface Accounting {
  readonly source: 'cgroup-v2' | 'cgroup-v1';
  readonly mount: string;
  /** As named in `/proc/self/cgroup`. */
  readonly controller: string;
  readonly used: string;
  readonly limit: string;
  /** Page cache that the kernel takes back first, as a line of `memory.stat`. */
  readonly reclaimable: string;
}

const V2: Accounting = {
  source: 'cgroup-v2',
  mount: '/sys/fs/cgroup',
  controller: '',
  used: 'memory.current',
  limit: 'memory.max',
  reclaimable: 'inactive_file',
};

const V1: Accounting = {
  source: 'cgroup-v1',
  mount: '/sys/fs/cgroup/memory',
  controller: 'memory',
  used: 'memory.usage_in_bytes',
  limit: 'memory.limit_in_bytes',
  reclaimable: 'total_inactive_file',
};

/** Version 1 says "no limit" with a number near 2^63. */
const NO_LIMIT_BYTES = 2 ** 60;
const NOTHING: MemoryReading = { source: 'none', usedBytes: 0, limitBytes: undefined, stallRatio: undefined };

/**
 * Memory of this process's cgroup, with all runners in it, beside the tightest limit of its hierarchy; of the machine
 * when no limit stands above it. Synchronous and cheap: a handful of files that the kernel makes up, for some ten
 * microseconds each. Limits are read each time, since they may be changed while a container runs.
 */
export class CgroupMemory {
  readonly #readText: ReadText;
  /** Folders that count memory, deepest first: found once. */
  readonly #folders: readonly { readonly path: string; readonly accounting: Accounting }[];

  constructor(readText: ReadText = readFileText) {
    this.#readText = readText;
    const membership = readText('/proc/self/cgroup') ?? '';
    this.#folders = [V2, V1].flatMap((accounting) =>
      cgroupFolders(accounting.mount, cgroupPath(membership, accounting.controller))
        .filter((path) => readText(path + accounting.used) !== undefined)
        .map((path) => ({ path, accounting })),
    );
  }

  read(): MemoryReading {
    let fullest: MemoryReading | undefined;
    for (const { path, accounting } of this.#folders) {
      const reading = this.#readFolder(path, accounting);
      if (reading && (!fullest || fullness(reading) > fullness(fullest))) fullest = reading;
    }
    return fullest ?? this.#readMachine();
  }

  /** Undefined when the folder sets no limit. */
  #readFolder(path: string, accounting: Accounting): MemoryReading | undefined {
    const limitBytes = byteCount(this.#readText(path + accounting.limit));
    const usedBytes = byteCount(this.#readText(path + accounting.used));
    if (usedBytes === undefined || limitBytes === undefined || limitBytes >= NO_LIMIT_BYTES) return undefined;
    const stat = this.#readText(`${path}memory.stat`);
    const reclaimable = byteCount(lineOf(stat, accounting.reclaimable)) ?? 0;
    return {
      source: accounting.source,
      usedBytes: Math.max(0, usedBytes - reclaimable),
      limitBytes,
      // Version 1 does not count stalls.
      stallRatio: accounting === V2 ? stallRatio(this.#readText(`${path}memory.pressure`)) : undefined,
    };
  }

  #readMachine(): MemoryReading {
    const text = this.#readText('/proc/meminfo');
    const limitBytes = kibibytes(lineOf(text, 'MemTotal:'));
    const available = kibibytes(lineOf(text, 'MemAvailable:'));
    const stall = stallRatio(this.#readText('/proc/pressure/memory'));
    if (limitBytes === undefined || available === undefined) return { ...NOTHING, stallRatio: stall };
    return {
      source: 'machine',
      usedBytes: Math.max(0, limitBytes - available),
      limitBytes,
      stallRatio: stall,
    };
  }
}

function fullness({ usedBytes, limitBytes = 0 }: MemoryReading): number {
  return limitBytes > 0 ? usedBytes / limitBytes : Infinity;
}

/** What follows the name at the start of a line. */
function lineOf(text: string | undefined, name: string): string | undefined {
  if (text === undefined) return undefined;
  for (const line of text.split('\n')) if (line.startsWith(`${name} `)) return line.slice(name.length + 1);
  return undefined;
}

function byteCount(text: string | undefined): number | undefined {
  return text !== undefined && /^\s*\d+\s*$/.test(text) ? Number(text) : undefined;
}

/** Lines of meminfo: "    65536 kB". */
function kibibytes(text: string | undefined): number | undefined {
  const count = byteCount(text?.replace(/kB\s*$/, ''));
  return count === undefined ? undefined : count * 1024;
}

/** `full`, since `some` rises already when one process waits. https://docs.kernel.org/accounting/psi.html */
function stallRatio(text: string | undefined): number | undefined {
  const percent = Number(/^full avg10=([\d.]+)/m.exec(text ?? '')?.[1] ?? Number.NaN);
  return Number.isFinite(percent) ? Math.min(1, percent / 100) : undefined;
}

function readFileText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
