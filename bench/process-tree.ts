import { readdirSync, readFileSync } from 'node:fs';

/** Ticks per second of /proc times on every Linux that Node supports (USER_HZ). */
const TICKS_PER_SECOND = 100;

export interface TreeUsage {
  /** User and system time of all the tree's processes, dead children that were waited for included. */
  readonly cpuSeconds: number;
  /** Proportional set size: shared pages are counted once. */
  readonly pssBytes: number;
  readonly processes: number;
  readonly descriptors: number;
}

/** What a process and all its descendants use now, read from /proc (Linux only: undefined elsewhere). */
export function treeUsage(rootPid: number): TreeUsage | undefined {
  const pids = descendants(rootPid);
  if (pids.length === 0) return undefined;
  let cpuSeconds = 0;
  let pssBytes = 0;
  let descriptors = 0;
  for (const pid of pids) {
    cpuSeconds += cpuSecondsOf(pid);
    pssBytes += pssBytesOf(pid);
    descriptors += descriptorsOf(pid);
  }
  return { cpuSeconds, pssBytes, processes: pids.length, descriptors };
}

/** The process and its descendants, by parent links. */
export function descendants(rootPid: number): number[] {
  const children = new Map<number, number[]>();
  let rootSeen = false;
  for (const entry of listProc()) {
    const stat = readStat(entry);
    if (!stat) continue;
    if (entry === rootPid) rootSeen = true;
    const siblings = children.get(stat.parent) ?? [];
    siblings.push(entry);
    children.set(stat.parent, siblings);
  }
  if (!rootSeen) return [];
  const found = [rootPid];
  for (let index = 0; index < found.length; index += 1)
    found.push(...(children.get(found[index] ?? 0) ?? []));
  return found;
}

function listProc(): number[] {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  } catch {
    return [];
  }
}

function readStat(pid: number): { parent: number; fields: string[] } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The command name may hold spaces and brackets: fields are counted from the last closing bracket.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return { parent: Number(fields[1]), fields };
  } catch {
    return undefined;
  }
}

function cpuSecondsOf(pid: number): number {
  const fields = readStat(pid)?.fields;
  if (!fields) return 0;
  const ticks = Number(fields[11]) + Number(fields[12]) + Number(fields[13]) + Number(fields[14]);
  return ticks / TICKS_PER_SECOND;
}

function pssBytesOf(pid: number): number {
  try {
    const match = /^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1'));
    return match ? Number(match[1]) * 1024 : 0;
  } catch {
    return 0;
  }
}

function descriptorsOf(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    return 0;
  }
}
