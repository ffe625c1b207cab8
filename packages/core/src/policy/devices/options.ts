/** When a device counts as pressed, when as broken, and how it comes back. */
export interface DeviceHealthOptions {
  /**
   * Memory pressure begins when less than this share of the memory is free. Default: 0.05. Models fill memory
   * legitimately; what harms is having no room left for the next batch.
   */
  readonly scarceFreeRatio: number;
  /** … and ends when more than this is. Default: 0.1: between the two nothing changes. */
  readonly ampleFreeRatio: number;
  /** Temperature in °C from which a device counts as hot, where it does not say when it slows down. Default: 85. */
  readonly hotCelsius: number;
  /** Where it does say: so many °C before. Default: 3: the controller must act before the hardware does. */
  readonly slowdownMarginCelsius: number;
  /** So many °C below hot it is cool again. Default: 5: more than a sensor wavers. */
  readonly coolingCelsius: number;
  /** Pressure must have been gone for so long, in ms. Default: 5,000: some samples, not one. */
  readonly calmMs: number;
  /** So many slow or failed runs in a row are a fault. Default: 3: chance seldom does it thrice. */
  readonly faultRuns: number;
  /** A run over this, in ms, is slow unless its profile says that it takes longer. Default: 500. */
  readonly slowMs: number;
  /** A run over so many times its profile is slow. Default: 5. */
  readonly slowFactor: number;
  /** A run below this, in ms, is never slow. Default: 20: a tiny run that waited for a core says nothing of the device. */
  readonly slowFloorMs: number;
  /** Codes of errors after which a device can't be trusted until it is reset. */
  readonly fatalXids: readonly number[];
  /** Longest wait before the first probe of a faulted device, in ms. Default: 15,000. Doubles with each that fails. */
  readonly firstProbeMs: number;
  /** In ms. Default: 300,000: what was repaired is found within five minutes. */
  readonly maxProbeMs: number;
  /** A probe without an answer for this long, in ms, has failed. Default: 30,000: it may have to load a model. */
  readonly probeLimitMs: number;
  /** So many good probes in a row bring the device back. Default: 2. */
  readonly recoveryProbes: number;
}

/**
 * From NVIDIA's "XID Errors" catalogue: those whose remedy is a reset or a replacement of the device. Codes that a wrong
 * kernel of one application raises (13, 31, 43, 45, 69 …) end that application, not the device.
 */
const FATAL_XIDS = [46, 48, 61, 62, 64, 74, 79, 95, 110, 119, 120, 136, 140, 143] as const;

export const DEFAULT_DEVICE_HEALTH_OPTIONS: DeviceHealthOptions = {
  scarceFreeRatio: 0.05,
  ampleFreeRatio: 0.1,
  hotCelsius: 85,
  slowdownMarginCelsius: 3,
  coolingCelsius: 5,
  calmMs: 5_000,
  faultRuns: 3,
  slowMs: 500,
  slowFactor: 5,
  slowFloorMs: 20,
  fatalXids: FATAL_XIDS,
  firstProbeMs: 15_000,
  maxProbeMs: 300_000,
  probeLimitMs: 30_000,
  recoveryProbes: 2,
};

/** How many batches a device may run at once. */
export interface DevicePermitOptions {
  /** Share of the free memory that batches may take. Default: 0.8: the rest is for fragments and other processes. */
  readonly memoryShareRatio: number;
  /** Most permits of one device. Default: 64: beyond it batches only wait for each other on the device. */
  readonly maxPermits: number;
}

export const DEFAULT_DEVICE_PERMIT_OPTIONS: DevicePermitOptions = { memoryShareRatio: 0.8, maxPermits: 64 };
