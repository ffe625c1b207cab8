import { assert, type Clock, type Instant, type Random, RestartBackoff, type RunnerExit } from '@gimbal/core';
import type { DeviceSample } from './device-reading.ts';
import { type DriverPlaces, findDriver } from './driver-presence.ts';
import { MONITOR_MAIN, MonitorChild } from './monitor-child.ts';
import type { MonitorFrame } from './monitor-frame.ts';
import { DEFAULT_MONITOR_OPTIONS } from './monitor-options.ts';

/** Time limits of the monitor's life, in ms. */
export interface WatchLimits {
  /** From its start to its first word: the driver of a machine with eight devices takes seconds to wake. */
  readonly startMs: number;
  /** A monitor that was silent for so long hangs in the driver. */
  readonly silenceMs: number;
  /** From being told to leave to being ended. */
  readonly stopMs: number;
  /** How often limits are looked at; all of them are far longer. */
  readonly tickMs: number;
  /** Pause between two samples. */
  readonly intervalMs: number;
  /** `nvidia-smi` is ended after this; below `silenceMs`. */
  readonly smiLimitMs: number;
}

export const DEFAULT_WATCH_LIMITS: WatchLimits = {
  startMs: 30_000,
  silenceMs: 5000,
  stopMs: 1000,
  tickMs: 500,
  intervalMs: DEFAULT_MONITOR_OPTIONS.intervalMs,
  smiLimitMs: DEFAULT_MONITOR_OPTIONS.smiLimitMs,
};

/** A host that looks at its monitor this much too late was away itself. */
const STALL_MS = 500;
/** So many starts of a monitor that is in a crash loop, the last ones five minutes apart; then it is left alone. */
const MAX_LOOP_STARTS = 12;

export type WatchState =
  | { readonly kind: 'idle' }
  /** There is nothing to watch: told by the driver's files, or by the monitor. Final. */
  | { readonly kind: 'cpu-only'; readonly reason: string }
  | { readonly kind: 'starting' }
  | { readonly kind: 'watching' }
  | { readonly kind: 'restarting'; readonly reason: string }
  /** The monitor ends again and again; it is only probed slowly, and devices are used unseen. */
  | { readonly kind: 'unmonitored'; readonly reason: string }
  | { readonly kind: 'stopped' };

/** A sample and how old it is. */
export interface AgedSample {
  readonly sample: DeviceSample;
  readonly ageMs: number;
}

export interface DeviceWatchOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Each state once, when it is entered; from the event loop, or from inside `start`. */
  readonly onState?: (state: WatchState) => void;
  readonly onSample?: (sample: DeviceSample) => void;
  /** A look failed, or the monitor ended: for the log. */
  readonly onTrouble?: (reason: string) => void;
  /** Instead of the system's driver. */
  readonly places?: DriverPlaces;
  /** The host's: where libraries and programs are looked for. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly limits?: Partial<WatchLimits>;
  /** Default: exponential back-off with jitter, crash loops probed slowly. */
  readonly restarts?: Pick<RestartBackoff, 'next'>;
  /** Path of the monitor's program. Default: ours. */
  readonly program?: string;
}

/** The host's side of the monitor: starts it, ends it when it hangs, starts it again, keeps its latest sample. */
export class DeviceWatch {
  readonly #options: DeviceWatchOptions;
  readonly #limits: WatchLimits;
  readonly #restarts: Pick<RestartBackoff, 'next'>;
  #state: WatchState = { kind: 'idle' };
  #ticker: NodeJS.Timeout | undefined;
  #tickedAt: Instant = 0;
  #child: MonitorChild | undefined;
  #latest: { readonly sample: DeviceSample; readonly at: Instant } | undefined;
  #heardAt: Instant = 0;
  /** Of this child; undefined: it has not said anything yet. */
  #watchingSince: Instant | undefined;
  #startAt: Instant | undefined;
  #cause: RunnerExit['cause'] = 'crashed';
  #nothingToWatch: string | undefined;
  #loopStarts = 0;
  #killAt: Instant = Number.POSITIVE_INFINITY;
  #stopped: Promise<void> | undefined;
  #onStopped: (() => void) | undefined;

  constructor(options: DeviceWatchOptions) {
    this.#options = options;
    this.#limits = { ...DEFAULT_WATCH_LIMITS, ...options.limits };
    this.#restarts = options.restarts ?? new RestartBackoff(options.random);
  }

  get state(): WatchState {
    return this.#state;
  }

  /** The process of the monitor, when there is one. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** The latest sample; it stays when the monitor goes, and grows old. */
  latest(): AgedSample | undefined {
    return this.#latest && { sample: this.#latest.sample, ageMs: this.#now() - this.#latest.at };
  }

  /** Starts the monitor, or nothing at all where there is no driver. */
  start(): void {
    assert(this.#state.kind === 'idle', 'a watch is started once');
    const { places = {}, environment } = this.#options;
    const driver = findDriver(places, environment);
    if (!driver.present) {
      const lookedFor = driver.lookedFor.join(', ');
      this.#enter({ kind: 'cpu-only', reason: `no NVIDIA driver was found (looked for ${lookedFor})` });
      return;
    }
    this.#tickedAt = this.#now();
    this.#ticker = setInterval(() => this.#tick(), this.#limits.tickMs);
    this.#ticker.unref();
    this.#enter({ kind: 'starting' });
    this.#launch();
  }

  /** Ends the monitor. Resolves when it is gone. */
  stop(): Promise<void> {
    this.#stopped ??= new Promise((resolve) => {
      this.#onStopped = resolve;
      this.#startAt = undefined;
      this.#killAt = this.#now() + this.#limits.stopMs;
      this.#ticker?.ref();
      this.#child?.leave();
      if (!this.#child) this.#finishStop();
    });
    return this.#stopped;
  }

  #finishStop(): void {
    clearInterval(this.#ticker);
    this.#enter({ kind: 'stopped' });
    this.#onStopped?.();
  }

  #launch(): void {
    const { places = {}, program = MONITOR_MAIN } = this.#options;
    const { intervalMs, smiLimitMs } = this.#limits;
    this.#startAt = undefined;
    this.#watchingSince = undefined;
    this.#cause = 'crashed';
    this.#heardAt = this.#now();
    const child: MonitorChild = new MonitorChild(
      program,
      { ...places, intervalMs, smiLimitMs, once: false },
      {
        onFrame: (frame) => {
          if (this.#child === child) this.#onFrame(frame);
        },
        onExit: (code, reason) => this.#onExit(code, reason),
      },
    );
    this.#child = child;
  }

  #onFrame(frame: MonitorFrame): void {
    this.#heardAt = this.#now();
    if (this.#stopped) return;
    switch (frame.kind) {
      case 'sample':
        this.#watchingSince ??= this.#heardAt;
        this.#latest = { sample: frame, at: this.#heardAt };
        if (this.#state.kind !== 'watching') this.#enter({ kind: 'watching' });
        this.#options.onSample?.(frame);
        break;
      case 'trouble':
        this.#options.onTrouble?.(frame.reason);
        break;
      case 'cpu-only':
        this.#nothingToWatch = frame.reason;
        break;
    }
  }

  #onExit(code: number | undefined, reason: string): void {
    this.#child = undefined;
    if (this.#stopped) {
      this.#finishStop();
      return;
    }
    if (code === 0 && this.#nothingToWatch !== undefined) {
      clearInterval(this.#ticker);
      this.#latest = undefined;
      this.#enter({ kind: 'cpu-only', reason: this.#nothingToWatch });
      return;
    }
    this.#nothingToWatch = undefined;
    this.#planRestart(this.#cause === 'hung' ? 'it was silent and was ended' : reason);
  }

  #planRestart(reason: string): void {
    const now = this.#now();
    const readyMs = this.#watchingSince === undefined ? 0 : now - this.#watchingSince;
    const { state, delayMs } = this.#restarts.next({ cause: this.#cause, readyMs }, now);
    this.#options.onTrouble?.(`the device monitor ended: ${reason}`);
    if (state === 'backoff') {
      this.#loopStarts = 0;
      this.#startAt = now + delayMs;
      this.#enter({ kind: 'restarting', reason });
      return;
    }
    this.#loopStarts += 1;
    if (this.#loopStarts <= MAX_LOOP_STARTS) this.#startAt = now + delayMs;
    // Told once: that it still fails is no news.
    if (this.#state.kind !== 'unmonitored') this.#enter({ kind: 'unmonitored', reason });
  }

  #tick(): void {
    const now = this.#now();
    const lateMs = now - this.#tickedAt - this.#limits.tickMs;
    this.#tickedAt = now;
    // What it said meanwhile is still to be read.
    if (lateMs > STALL_MS) this.#heardAt += lateMs;
    if (this.#startAt !== undefined && now >= this.#startAt) this.#launch();
    if (!this.#child) return;
    const { startMs, silenceMs } = this.#limits;
    const limitMs = this.#watchingSince === undefined ? startMs : silenceMs;
    if (now - this.#heardAt >= limitMs) this.#cause = 'hung';
    if (this.#cause === 'hung' || now >= this.#killAt) this.#child.kill();
  }

  #enter(state: WatchState): void {
    this.#state = state;
    this.#options.onState?.(state);
  }

  #now(): Instant {
    return this.#options.clock.now();
  }
}
