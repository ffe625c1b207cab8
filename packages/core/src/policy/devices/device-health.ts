import { assert, unreachable } from '../../base/assert.ts';
import type { Random } from '../../base/random.ts';
import type { Instant } from '../../base/time.ts';
import type { DeviceCondition } from './device-condition.ts';
import { DEFAULT_DEVICE_HEALTH_OPTIONS, type DeviceHealthOptions } from './options.ts';

/** Beyond it every back-off has long reached its limit; keeps the power finite. */
const MAX_DOUBLINGS = 20;

export type FaultCause = 'xid' | 'lost' | 'failed-runs' | 'slow-runs';

export type DeviceState =
  | { readonly kind: 'healthy' }
  | {
      readonly kind: 'pressured';
      readonly memory: boolean;
      readonly thermal: boolean;
      readonly since: Instant;
    }
  | {
      readonly kind: 'faulted';
      readonly cause: FaultCause;
      readonly because: string;
      readonly since: Instant;
      readonly nextProbeAt: Instant;
    };

/** A batch of users that ran on the device. Failures that are the input's fault must not be told. */
export type DeviceRun =
  | {
      readonly kind: 'finished';
      readonly durationMs: number;
      /** By the cost profile; undefined: there is none. */
      readonly predictedMs: number | undefined;
    }
  | { readonly kind: 'failed' };

export interface DeviceTransition {
  readonly from: DeviceState['kind'];
  readonly to: DeviceState['kind'];
  readonly because: string;
}

interface Probe {
  readonly id: number;
  readonly startedAt: Instant;
}

/**
 * Decides what: whether a device is healthy, pressured or faulted, how strongly it presses the ladder, and when a
 * faulted one is probed.
 *
 * Why this design: each state is entered and left by different thresholds, as one threshold flaps. Utilisation is no
 * input: a busy device is what it was bought for. Faults are told by runs in a row (a good run proves the device) and
 * by the errors that its driver reports; a faulted device gets no users, only probes of our own, so that it must prove
 * itself before it costs anyone an answer.
 *
 * Transitions: healthy → pressured when memory is scarce or the device hot · pressured → healthy when neither has
 * been for `calmMs` · any → faulted by a fatal Xid, by a lost device, by `faultRuns` slow or failed runs in a row ·
 * faulted → healthy by `recoveryProbes` good probes in a row (the next reading may press it at once).
 * Cold start: healthy. Recovery: by probes, first after about `firstProbeMs`, then ever later up to `maxProbeMs`.
 * Not counted: runs that end while the device is faulted, and probes that were answered too late: both are from before.
 */
export class DeviceHealth {
  readonly #random: Random;
  readonly #options: DeviceHealthOptions;
  #state: DeviceState = { kind: 'healthy' };
  #memoryRatio = 0;
  #thermalRatio = 0;
  #calmSince: Instant | undefined;
  #badRuns = 0;
  #probe: Probe | undefined;
  #probeIds = 0;
  #failedProbes = 0;
  #goodProbes = 0;

  constructor(random: Random, options: Partial<DeviceHealthOptions> = {}) {
    this.#random = random;
    this.#options = { ...DEFAULT_DEVICE_HEALTH_OPTIONS, ...options };
    assert(
      this.#options.scarceFreeRatio < this.#options.ampleFreeRatio,
      'pressure ends above where it begins',
    );
    assert(this.#options.faultRuns >= 1 && this.#options.recoveryProbes >= 1, 'a streak has at least one');
  }

  get state(): DeviceState {
    return this.#state;
  }

  /** For the ladder, in [0, 1]: 0 while healthy, 1 while faulted, between by how little room is left. */
  get pressureRatio(): number {
    switch (this.#state.kind) {
      case 'healthy':
        return 0;
      case 'pressured':
        return Math.max(this.#memoryRatio, this.#thermalRatio);
      case 'faulted':
        return 1;
      default:
        return unreachable(this.#state);
    }
  }

  /** A new look at the device. */
  observe(condition: DeviceCondition, now: Instant): DeviceTransition | undefined {
    const xid = condition.xids.find((code) => this.#options.fatalXids.includes(code));
    if (xid !== undefined) return this.#fault('xid', `the driver reported Xid ${xid}`, now);
    if (condition.lost) return this.#fault('lost', 'the driver has lost it', now);
    const memory = this.#isScarce(condition);
    const thermal = this.#isHot(condition);
    if (this.#state.kind === 'faulted') return undefined;
    if (memory || thermal) return this.#press({ memory, thermal }, now);
    return this.#relax(now);
  }

  /** It is missing from a whole sample of its machine. */
  missed(now: Instant): DeviceTransition | undefined {
    return this.#fault('lost', 'the driver does not list it any more', now);
  }

  /** Nobody looks at it any more: what was seen last is no evidence, its runs still are. */
  unmonitored(now: Instant): DeviceTransition | undefined {
    this.#memoryRatio = 0;
    this.#thermalRatio = 0;
    if (this.#state.kind !== 'pressured') return undefined;
    this.#calmSince = now - this.#options.calmMs;
    return this.#relax(now);
  }

  ran(run: DeviceRun, now: Instant): DeviceTransition | undefined {
    if (this.#state.kind === 'faulted') return undefined;
    const bad = run.kind === 'failed' || this.#isSlow(run);
    this.#badRuns = bad ? this.#badRuns + 1 : 0;
    const { faultRuns } = this.#options;
    if (this.#badRuns < faultRuns) return undefined;
    return run.kind === 'failed'
      ? this.#fault('failed-runs', `${faultRuns} runs in a row failed or were slow`, now)
      : this.#fault('slow-runs', `${faultRuns} runs in a row were slow or failed`, now);
  }

  /**
   * The number of a probe that is to be made now, or undefined. One at a time: while it runs no other is due, unless it
   * has taken longer than `probeLimitMs`, which is its failure.
   */
  startProbe(now: Instant): number | undefined {
    if (this.#state.kind !== 'faulted') return undefined;
    if (this.#probe) {
      if (now - this.#probe.startedAt < this.#options.probeLimitMs) return undefined;
      this.#probeFailed(now);
    }
    if (now < this.#state.nextProbeAt) return undefined;
    this.#probeIds += 1;
    this.#probe = { id: this.#probeIds, startedAt: now };
    return this.#probeIds;
  }

  /** How a probe ended. An answer to any but the latest changes nothing, and so does one after its limit. */
  probed(id: number, works: boolean, now: Instant): DeviceTransition | undefined {
    const probe = this.#probe;
    if (this.#state.kind !== 'faulted' || probe?.id !== id) return undefined;
    if (!works || now - probe.startedAt >= this.#options.probeLimitMs) {
      this.#probeFailed(now);
      return undefined;
    }
    this.#probe = undefined;
    this.#goodProbes += 1;
    if (this.#goodProbes < this.#options.recoveryProbes) {
      this.#state = { ...this.#state, nextProbeAt: now };
      return undefined;
    }
    this.#failedProbes = 0;
    return this.#enter({ kind: 'healthy' }, `${this.#goodProbes} probes in a row went well`);
  }

  #isScarce({ memory }: DeviceCondition): boolean {
    const { scarceFreeRatio, ampleFreeRatio } = this.#options;
    if (!memory || memory.totalBytes <= 0) {
      this.#memoryRatio = 0;
      return false;
    }
    const freeRatio = memory.freeBytes / memory.totalBytes;
    this.#memoryRatio = clamp((ampleFreeRatio - freeRatio) / ampleFreeRatio);
    const pressed = this.#state.kind === 'pressured' && this.#state.memory;
    return freeRatio < (pressed ? ampleFreeRatio : scarceFreeRatio);
  }

  #isHot({ temperatureCelsius, slowdownCelsius }: DeviceCondition): boolean {
    const { hotCelsius, slowdownMarginCelsius, coolingCelsius } = this.#options;
    if (temperatureCelsius === undefined) {
      this.#thermalRatio = 0;
      return false;
    }
    const hot = slowdownCelsius === undefined ? hotCelsius : slowdownCelsius - slowdownMarginCelsius;
    const cool = hot - coolingCelsius;
    this.#thermalRatio = clamp((temperatureCelsius - cool) / (coolingCelsius + slowdownMarginCelsius));
    const pressed = this.#state.kind === 'pressured' && this.#state.thermal;
    return temperatureCelsius >= (pressed ? cool : hot);
  }

  #isSlow({ durationMs, predictedMs }: Extract<DeviceRun, { kind: 'finished' }>): boolean {
    const { slowMs, slowFactor, slowFloorMs } = this.#options;
    if (durationMs <= slowFloorMs) return false;
    if (predictedMs === undefined) return durationMs > slowMs;
    // What its own profile says is long by nature is not slow for it.
    return durationMs > slowFactor * predictedMs || (durationMs > slowMs && predictedMs <= slowMs);
  }

  #press(
    { memory, thermal }: { memory: boolean; thermal: boolean },
    now: Instant,
  ): DeviceTransition | undefined {
    this.#calmSince = undefined;
    const causes = [memory ? 'memory is scarce' : '', thermal ? 'it is hot' : '']
      .filter(Boolean)
      .join(' and ');
    const since = this.#state.kind === 'pressured' ? this.#state.since : now;
    return this.#enter({ kind: 'pressured', memory, thermal, since }, causes);
  }

  #relax(now: Instant): DeviceTransition | undefined {
    if (this.#state.kind !== 'pressured') return undefined;
    this.#calmSince ??= now;
    if (now - this.#calmSince < this.#options.calmMs) return undefined;
    this.#calmSince = undefined;
    return this.#enter({ kind: 'healthy' }, 'memory and temperature are well again');
  }

  #fault(cause: FaultCause, because: string, now: Instant): DeviceTransition | undefined {
    if (this.#state.kind === 'faulted') {
      // Broken again while it is being probed: what the probes found until now is worth nothing.
      this.#goodProbes = 0;
      return undefined;
    }
    this.#goodProbes = 0;
    this.#probe = undefined;
    const nextProbeAt = now + this.#probeDelayMs();
    return this.#enter({ kind: 'faulted', cause, because, since: now, nextProbeAt }, because);
  }

  #probeFailed(now: Instant): void {
    if (this.#state.kind !== 'faulted') return;
    this.#probe = undefined;
    this.#goodProbes = 0;
    this.#failedProbes += 1;
    this.#state = { ...this.#state, nextProbeAt: now + this.#probeDelayMs() };
  }

  /** At least half of the limit: a probe may load a model. Jitter, as devices of a machine often fail together. */
  #probeDelayMs(): number {
    const { firstProbeMs, maxProbeMs } = this.#options;
    const limitMs = Math.min(maxProbeMs, firstProbeMs * 2 ** Math.min(this.#failedProbes, MAX_DOUBLINGS));
    return limitMs * (0.5 + this.#random.next() / 2);
  }

  #enter(state: DeviceState, because: string): DeviceTransition | undefined {
    const from = this.#state.kind;
    this.#state = state;
    if (from === state.kind) return undefined;
    this.#badRuns = 0;
    if (state.kind !== 'pressured') this.#calmSince = undefined;
    return { from, to: state.kind, because };
  }
}

function clamp(ratio: number): number {
  return Math.min(1, Math.max(0, ratio));
}
