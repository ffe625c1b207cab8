import { type Clock, type Criticality, MemoryPressure, type PressureLevel } from '@gimbal/core';
import { CgroupMemory, type MemoryReading } from '../memory/cgroup-memory.ts';

/** Often enough to see memory go before the kernel must act; each look costs some ten microseconds. */
const LOOK_EVERY_MS = 250;

export interface MemoryWatchOptions {
  readonly clock: Clock;
  readonly onLevel: (change: { level: PressureLevel; from: PressureLevel; reading: MemoryReading }) => void;
}

/** The last line before the kernel kills: watches the memory of host and runners together, and says which lanes must go. */
export class MemoryWatch {
  readonly #options: MemoryWatchOptions;
  readonly #memory = new CgroupMemory();
  readonly #pressure = new MemoryPressure();
  #reading: MemoryReading;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: MemoryWatchOptions) {
    this.#options = options;
    this.#reading = this.#memory.read();
  }

  get level(): PressureLevel {
    return this.#pressure.level;
  }

  get reading(): MemoryReading {
    return this.#reading;
  }

  refuses(lane: Criticality): boolean {
    return this.#pressure.refuses(lane);
  }

  start(): void {
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const reading = this.#memory.read();
    this.#reading = reading;
    const { level, changedFrom } = this.#pressure.step(reading, this.#options.clock.now());
    if (changedFrom !== undefined) this.#options.onLevel({ level, from: changedFrom, reading });
  }
}
