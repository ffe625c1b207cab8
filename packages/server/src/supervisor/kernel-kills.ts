import { readFileSync } from 'node:fs';

const COUNT = /^oom_kill (\d+)$/m;

/**
 * Counts what the kernel has killed for want of memory: in the control group where there is one, else on the whole
 * machine. The kernel says so nowhere else: a process that it has killed looks like any that got SIGKILL. Where nothing
 * can be read nothing is ever seen.
 */
export class KernelKills {
  readonly #file: string | undefined;
  #seen: number;

  /** `files`: the first that can be read is read from then on. */
  constructor(files: readonly string[] = counterFiles()) {
    this.#file = files.find((file) => countIn(file) !== undefined);
    this.#seen = this.#count();
  }

  /** Takes note of how it is now. */
  look(): void {
    this.#seen = this.#count();
  }

  /** Whether the kernel has killed since the last look. */
  get killedSince(): boolean {
    return this.#count() > this.#seen;
  }

  #count(): number {
    return (this.#file === undefined ? undefined : countIn(this.#file)) ?? 0;
  }
}

function countIn(file: string): number | undefined {
  try {
    const found = COUNT.exec(readFileSync(file, 'latin1'));
    return found ? Number(found[1]) : undefined;
  } catch {
    return undefined;
  }
}

/** Best first: our own group of cgroup v2 or v1, as we or our container sees it, then the machine. */
function counterFiles(): string[] {
  return [...groupFiles(), '/sys/fs/cgroup/memory.events', '/proc/vmstat'];
}

function groupFiles(): string[] {
  let groups: string;
  try {
    groups = readFileSync('/proc/self/cgroup', 'latin1');
  } catch {
    return [];
  }
  const unified = /^0::(\/.*)$/m.exec(groups)?.[1];
  const memory = /^\d+:(?:[^:\n]*,)?memory(?:,[^:\n]*)?:(\/.*)$/m.exec(groups)?.[1];
  return [
    ...(unified === undefined ? [] : [`/sys/fs/cgroup${unified}/memory.events`]),
    ...(memory === undefined
      ? []
      : [`/sys/fs/cgroup/memory${memory}/memory.oom_control`, '/sys/fs/cgroup/memory/memory.oom_control']),
  ];
}
