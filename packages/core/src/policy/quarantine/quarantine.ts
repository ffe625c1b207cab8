import { assert } from '../../base/assert.ts';
import type { Instant } from '../../base/time.ts';
import { DEFAULT_QUARANTINE_OPTIONS, type QuarantineOptions } from './options.ts';

/** An input that crashes a model. */
export interface PoisonInput {
  /** Names the version and the whole input, as a digest. */
  readonly fingerprint: string;
  /** A cheap number, the same for the same input. */
  readonly sketch: number;
  readonly model: string;
  readonly version: string;
  /** Why it was blamed; public. */
  readonly because: string;
}

/** What operators see of one. */
export interface QuarantinedInput extends PoisonInput {
  readonly ageMs: number;
  readonly expiresInMs: number;
  /** Requests refused for it. */
  readonly hits: number;
}

interface Entry {
  readonly input: PoisonInput;
  readonly addedAt: Instant;
  hits: number;
}

/**
 * Decides what: whether an input is refused because it has crashed a runner before.
 *
 * Why this design: a client that gets an error sends the same input again, and each try would cost restarts. The test
 * has two steps, since every request pays for it: a sketch of the input, which is nearly free and is looked up among few
 * numbers, and only when it is one of them the digest over all bytes, which alone decides. Nothing is refused for good:
 * an entry expires, also one that is still being hit, so that a wrong verdict or a mended model is found out.
 *
 * Transitions: added → refused → expired after `expiryMs`, released by an operator, or pushed out by newer ones.
 * Cold start: empty: after a restart of the host the poison shows itself again. Recovery: by time, or `release`.
 * Not counted: what crashed in another version, whose fingerprint is another.
 */
export class Quarantine {
  readonly #options: QuarantineOptions;
  /** By fingerprint, in the order of being added, which is that of expiry. */
  readonly #entries = new Map<string, Entry>();
  /** How many entries have each sketch. */
  readonly #sketches = new Map<number, number>();
  #hits = 0;

  constructor(options: Partial<QuarantineOptions> = {}) {
    this.#options = { ...DEFAULT_QUARANTINE_OPTIONS, ...options };
    assert(this.#options.maxInputs >= 1, 'a quarantine has room for an input');
  }

  /** Entries, some of which may have expired since the last look. While it is 0, no sketch need be made. */
  get size(): number {
    return this.#entries.size;
  }

  /** Requests refused so far, over all entries that ever were. */
  get hits(): number {
    return this.#hits;
  }

  /** Whether the digest of an input with this sketch is worth its time. */
  suspects(sketch: number): boolean {
    return this.#sketches.has(sketch);
  }

  /** Whether the input is refused; counts it when it is. */
  isQuarantined(fingerprint: string, now: Instant): boolean {
    this.#expire(now);
    const entry = this.#entries.get(fingerprint);
    if (!entry) return false;
    entry.hits += 1;
    this.#hits += 1;
    return true;
  }

  /** Refuses an input from now on; one that is there already starts anew. */
  add(input: PoisonInput, now: Instant): void {
    this.#expire(now);
    this.release(input.fingerprint);
    if (this.#entries.size >= this.#options.maxInputs) this.#dropFirst();
    this.#entries.set(input.fingerprint, { input, addedAt: now, hits: 0 });
    this.#sketches.set(input.sketch, (this.#sketches.get(input.sketch) ?? 0) + 1);
  }

  /** Takes an input again; false when it was not refused. */
  release(fingerprint: string): boolean {
    const entry = this.#entries.get(fingerprint);
    if (!entry) return false;
    this.#entries.delete(fingerprint);
    const { sketch } = entry.input;
    const left = (this.#sketches.get(sketch) ?? 0) - 1;
    if (left > 0) this.#sketches.set(sketch, left);
    else this.#sketches.delete(sketch);
    return true;
  }

  /** Oldest first. */
  list(now: Instant): QuarantinedInput[] {
    this.#expire(now);
    const { expiryMs } = this.#options;
    return Array.from(this.#entries.values(), ({ input, addedAt, hits }) => {
      const ageMs = now - addedAt;
      return { ...input, ageMs, expiresInMs: expiryMs - ageMs, hits };
    });
  }

  #expire(now: Instant): void {
    for (const [fingerprint, { addedAt }] of this.#entries) {
      if (now - addedAt < this.#options.expiryMs) return;
      this.release(fingerprint);
    }
  }

  #dropFirst(): void {
    const [first] = this.#entries.keys();
    if (first !== undefined) this.release(first);
  }
}
