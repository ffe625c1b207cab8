import { assert } from '../../base/assert.ts';
import { DEFAULT_DEVICE_PERMIT_OPTIONS, type DevicePermitOptions } from './options.ts';

/** The right to run one batch on a device. */
export interface DevicePermit {
  readonly id: number;
  /** Who holds it: a runner's id. */
  readonly holder: string;
}

/** What is known of a device's memory, in bytes; undefined: can't be read. */
export interface MemoryRoom {
  readonly freeBytes: number | undefined;
  /**
   * Memory that our runners keep from earlier batches and use again for the next ones: the runtime does not give it
   * back to the device, so that it is missing from `freeBytes` though it is to be had. Default: 0.
   */
  readonly reusableBytes?: number;
}

/**
 * Decides what: how many batches may be on one device at a time.
 *
 * Why this design: a batch that meets a full memory fails and takes its neighbours' time with it, so batches are counted
 * before they start: `free × 0.8 ÷ measured peak of a batch`. Memory alone is asked, as it can be read even where the
 * processes of a device can't be listed.
 *
 * Bounds: at least 1 while the device works (its first batch is what measures the peak, and a reading that is too
 * low must not stop it), at most `maxPermits`. A lower limit takes nothing from those who hold permits: none are
 * given until enough have come back. Permits come back from their holder, or when the holder is gone, never by a
 * timeout: time-outs that gave permits back let 20 batches run where 2 were allowed (cockatiel, measured).
 * Cold start: nothing measured; one permit. Recovery: with the next reading.
 */
export class DevicePermits {
  readonly #options: DevicePermitOptions;
  readonly #held = new Map<number, DevicePermit>();
  #nextId = 1;
  #room: MemoryRoom = { freeBytes: undefined };
  #peakBytes: number | undefined;
  #works = true;

  constructor(options: Partial<DevicePermitOptions> = {}) {
    this.#options = { ...DEFAULT_DEVICE_PERMIT_OPTIONS, ...options };
    const { memoryShareRatio, maxPermits } = this.#options;
    assert(memoryShareRatio > 0 && memoryShareRatio <= 1, 'a share lies in (0, 1]');
    assert(Number.isInteger(maxPermits) && maxPermits >= 1, 'a device has at least one permit');
  }

  get held(): number {
    return this.#held.size;
  }

  /** The largest peak seen; undefined: nothing was measured yet. */
  get peakBytes(): number | undefined {
    return this.#peakBytes;
  }

  get limit(): number {
    const { memoryShareRatio, maxPermits } = this.#options;
    if (!this.#works) return 0;
    const { freeBytes, reusableBytes = 0 } = this.#room;
    if (freeBytes === undefined || this.#peakBytes === undefined) return 1;
    const fitting = Math.floor((freeBytes * memoryShareRatio + reusableBytes) / this.#peakBytes);
    return Math.min(maxPermits, Math.max(1, fitting));
  }

  /** A permit, or undefined: the batch waits, or goes elsewhere. */
  tryAcquire(holder: string): DevicePermit | undefined {
    if (this.#held.size >= this.limit) return undefined;
    const permit = { id: this.#nextId, holder };
    this.#nextId += 1;
    this.#held.set(permit.id, permit);
    return permit;
  }

  /** Gives a permit back; a second time is without effect, since a batch may end in two ways at once. */
  release(permit: DevicePermit): void {
    this.#held.delete(permit.id);
  }

  /** A runner is gone, and its batches with it. */
  releaseAllOf(holder: string): void {
    for (const permit of this.#held.values()) if (permit.holder === holder) this.#held.delete(permit.id);
  }

  observe(room: MemoryRoom): void {
    this.#room = room;
  }

  /** What one batch took at its most. The largest counts: a mean would be exceeded by every second batch. */
  measured(peakBytes: number): void {
    if (!(peakBytes > 0) || !Number.isFinite(peakBytes)) return;
    this.#peakBytes = Math.max(this.#peakBytes ?? 0, peakBytes);
  }

  /** Another model or another batch limit: what was measured says nothing any more. */
  forgetPeak(): void {
    this.#peakBytes = undefined;
  }

  /** Whether the device works at all; while it does not, no permits are given. */
  set works(works: boolean) {
    this.#works = works;
  }
}
