import {
  type Clock,
  type Criticality,
  LeakDetector,
  type LeakVerdict,
  MemoryPressure,
  type PressureLevel,
} from '@gimbal/core';
import { CgroupMemory, type MemoryReading } from '../memory/cgroup-memory.ts';

/** Often enough to see memory go before the kernel must act; each look costs some ten microseconds. */
const LOOK_EVERY_MS = 250;
/** The host's own memory is looked at this often: its trend is a matter of minutes. */
const TREND_EVERY_MS = 5_000;
/** A trend that goes on is told again. */
const TELL_EVERY_MS = 600_000;

export interface MemoryWatchOptions {
  readonly clock: Clock;
  /** Default: what the kernel says. */
  readonly read?: () => MemoryReading;
  /** Requests so far, and memory of the host's own process. */
  readonly host: () => { readonly requests: number; readonly residentBytes: number };
  /** The host's own memory grows with its requests: an alert, since a host can't be recycled. */
  readonly onGrowth: (verdict: LeakVerdict) => void;
  readonly onLevel: (change: { level: PressureLevel; from: PressureLevel; reading: MemoryReading }) => void;
}

/** The last line before the kernel kills: watches the memory of host and runners together, and says which lanes must go. */
export class MemoryWatch {
  readonly #options: MemoryWatchOptions;
  readonly #read: () => MemoryReading;
  readonly #pressure = new MemoryPressure();
  #reading: MemoryReading;
  readonly #trend = new LeakDetector();
  #trendAt = 0;
  #toldAt = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: MemoryWatchOptions) {
    this.#options = options;
    const memory = new CgroupMemory();
    this.#read = options.read ?? (() => memory.read());
    this.#reading = this.#read();
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
    const reading = this.#read();
    this.#reading = reading;
    const { level, changedFrom } = this.#pressure.step(reading, this.#options.clock.now());
    if (changedFrom !== undefined) this.#options.onLevel({ level, from: changedFrom, reading });
    this.#followTrend(reading.limitBytes);
  }

  #followTrend(limitBytes: number | undefined): void {
    const now = this.#options.clock.now();
    if (now - this.#trendAt < TREND_EVERY_MS) return;
    this.#trendAt = now;
    const { requests, residentBytes } = this.#options.host();
    const verdict = this.#trend.observed(
      { requests, bytes: residentBytes, ...(limitBytes === undefined ? {} : { limitBytes }) },
      now,
    );
    if (verdict.kind === 'steady' || now - this.#toldAt < TELL_EVERY_MS) return;
    this.#toldAt = now;
    this.#options.onGrowth(verdict);
  }
}
