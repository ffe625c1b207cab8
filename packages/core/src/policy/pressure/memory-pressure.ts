import { assert } from '../../base/assert.ts';
import type { Instant } from '../../base/time.ts';
import type { Criticality } from '../../contract/inference-port.ts';
import { DEFAULT_PRESSURE_OPTIONS, type PressureOptions } from './options.ts';

/** `tight`: sheddable requests are shed. `critical`: all but critical ones are, and caches are dropped. */
export type PressureLevel = 'calm' | 'tight' | 'critical';

export interface MemorySituation {
  /** What can't be taken back from the group of processes that would be killed together. */
  readonly usedBytes: number;
  /** Undefined when it is not known: then only stalls speak. */
  readonly limitBytes: number | undefined;
  /** Share of the time in which all of them waited for memory; undefined where the kernel doesn't say. */
  readonly stallRatio?: number | undefined;
}

export interface PressureStep {
  readonly level: PressureLevel;
  /** The level before, when this step changed it. */
  readonly changedFrom: PressureLevel | undefined;
}

const LEVELS: readonly PressureLevel[] = ['calm', 'tight', 'critical'];

/**
 * Decides what: which requests are refused so that the kernel does not kill the host or its runners for want of memory.
 *
 * Why this design: it is the last line, behind arenas and bounds that should keep memory far away from the limit; so it
 * is simple, and up at once: memory runs out in less time than an average would need. Down it goes a level at a time,
 * below a lower ratio and only after a dwell: requests that were shed come back together.
 *
 * Transitions: any → the highest level whose ratio or stall is reached, at once · critical → tight → calm, each after
 * `dwellMs` in which neither ratio nor stall spoke for the level that is left.
 * Cold start: calm. Recovery: by time alone. A reading that is missing speaks for nothing.
 * Not counted: page cache, which the kernel takes back when it needs it; the caller leaves it out.
 */
export class MemoryPressure {
  readonly #options: PressureOptions;
  #level: PressureLevel = 'calm';
  /** Since when nothing has spoken for the level; undefined while something does. */
  #relievedSince: Instant | undefined = undefined;

  constructor(options: Partial<PressureOptions> = {}) {
    this.#options = { ...DEFAULT_PRESSURE_OPTIONS, ...options };
    const { calmRatio, tightRatio, relievedRatio, criticalRatio } = this.#options;
    assert(
      calmRatio <= tightRatio && relievedRatio <= criticalRatio,
      'a level is left below where it is entered',
    );
    assert(tightRatio <= criticalRatio && calmRatio <= relievedRatio, 'levels are entered and left in order');
    const { tightStallRatio, criticalStallRatio } = this.#options;
    assert(tightStallRatio <= criticalStallRatio, 'levels are entered in order');
  }

  get level(): PressureLevel {
    return this.#level;
  }

  refuses(lane: Criticality): boolean {
    switch (this.#level) {
      case 'calm':
        return false;
      case 'tight':
        return lane === 'sheddable';
      case 'critical':
        return lane !== 'critical';
    }
  }

  step(situation: MemorySituation, now: Instant): PressureStep {
    const before = this.#level;
    const entered = this.#entered(situation);
    if (LEVELS.indexOf(entered) > LEVELS.indexOf(before)) {
      this.#become(entered);
    } else if (before === 'calm' || this.#holds(before, situation)) {
      this.#relievedSince = undefined;
    } else {
      this.#relievedSince ??= now;
      if (now - this.#relievedSince >= this.#options.dwellMs) {
        this.#become(before === 'critical' ? 'tight' : 'calm');
      }
    }
    return { level: this.#level, changedFrom: this.#level === before ? undefined : before };
  }

  #become(level: PressureLevel): void {
    this.#level = level;
    this.#relievedSince = undefined;
  }

  /** The level that the situation calls for, whatever came before. */
  #entered(situation: MemorySituation): PressureLevel {
    const { tightRatio, criticalRatio, tightStallRatio, criticalStallRatio } = this.#options;
    const used = usedRatio(situation);
    const stall = situation.stallRatio ?? 0;
    if (used >= criticalRatio || stall >= criticalStallRatio) return 'critical';
    return used >= tightRatio || stall >= tightStallRatio ? 'tight' : 'calm';
  }

  /** Whether a level that was entered is not left yet. */
  #holds(level: 'tight' | 'critical', situation: MemorySituation): boolean {
    const { calmRatio, relievedRatio, tightStallRatio, criticalStallRatio, stallReliefRatio } = this.#options;
    const used = usedRatio(situation);
    const stall = situation.stallRatio ?? 0;
    return level === 'critical'
      ? used >= relievedRatio || stall >= criticalStallRatio * stallReliefRatio
      : used >= calmRatio || stall >= tightStallRatio * stallReliefRatio;
  }
}

function usedRatio({ usedBytes, limitBytes }: MemorySituation): number {
  return limitBytes !== undefined && limitBytes > 0 ? usedBytes / limitBytes : 0;
}
