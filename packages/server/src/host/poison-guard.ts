import { type Clock, GimbalError, Quarantine, type VersionSpec, type WorkRequest } from '@gimbal/core';
import { fingerprintOf, sketchOf } from '../cache/fingerprint.ts';
import { contentOf } from '../cache/request-content.ts';

/** Keeps inputs that crashed runners away from them. One for all models: versions are told apart by the fingerprint. */
export class PoisonGuard {
  readonly quarantine = new Quarantine();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Why the input is refused; undefined when it is not, which costs nothing while nothing is in quarantine. */
  refusal(request: WorkRequest, spec: VersionSpec, arenaBytes: Uint8Array): GimbalError | undefined {
    if (this.quarantine.size === 0) return undefined;
    const content = contentOf(request, spec, arenaBytes);
    if (!this.quarantine.suspects(sketchOf(content))) return undefined;
    const fingerprint = fingerprintOf(content);
    if (!this.quarantine.isQuarantined(fingerprint, this.#clock.now())) return undefined;
    return new GimbalError(
      'POISON_INPUT',
      `Cannot run this input: it has crashed the model before and is in quarantine as ${fingerprint.slice(0, 12)}, expected an input that the model survives`,
    );
  }

  /** The input was found to crash runners. Its memory must still be there. */
  convicted(
    request: WorkRequest,
    spec: VersionSpec,
    about: { arenaBytes: Uint8Array; because: string },
  ): void {
    const content = contentOf(request, spec, about.arenaBytes);
    const { model, version } = spec;
    this.quarantine.add(
      {
        fingerprint: fingerprintOf(content),
        sketch: sketchOf(content),
        model,
        version,
        because: about.because,
      },
      this.#clock.now(),
    );
  }
}
