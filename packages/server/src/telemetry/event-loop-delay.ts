import { monitorEventLoopDelay } from 'node:perf_hooks';

type DelayMonitor = ReturnType<typeof monitorEventLoopDelay>;

/** How often the loop is asked whether it is on time. */
const RESOLUTION_MS = 10;
/** Two windows, begun this far apart: what is reported covers the last one to two of these spans. */
const WINDOW_MS = 30_000;
const NANOSECONDS_PER_SECOND = 1e9;

export interface LoopDelay {
  readonly p50Seconds: number;
  readonly p99Seconds: number;
  readonly maxSeconds: number;
}

/**
 * How late the event loop is. The runtime's monitor counts the time between its own ticks, so its resolution is taken
 * off. Windows turn by the clock, not by the scrape: several scrapers see the same worst delay, and an old one leaves.
 */
export class EventLoopDelay {
  #current: DelayMonitor = enabledMonitor();
  #previous: DelayMonitor = enabledMonitor();
  readonly #turning: NodeJS.Timeout;

  constructor() {
    this.#turning = setInterval(() => this.#turn(), WINDOW_MS);
    this.#turning.unref();
  }

  /** Over the last half minute to minute. */
  read(): LoopDelay {
    const monitor = this.#previous;
    if (monitor.count === 0) return { p50Seconds: 0, p99Seconds: 0, maxSeconds: 0 };
    return {
      p50Seconds: late(monitor.percentile(50)),
      p99Seconds: late(monitor.percentile(99)),
      maxSeconds: late(monitor.max),
    };
  }

  close(): void {
    clearInterval(this.#turning);
    this.#current.disable();
    this.#previous.disable();
  }

  /** Both monitors run all the time; the older one, which has seen more, is the one that is read. */
  #turn(): void {
    const oldest = this.#previous;
    this.#previous = this.#current;
    oldest.reset();
    this.#current = oldest;
  }
}

function enabledMonitor(): DelayMonitor {
  const monitor = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  monitor.enable();
  return monitor;
}

function late(nanoseconds: number): number {
  return Math.max(0, nanoseconds / NANOSECONDS_PER_SECOND - RESOLUTION_MS / 1000);
}
