import type { RunnerView } from '@gimbal/core';
import type { DevicePort } from './device-routes.ts';
import type { LadderPort } from './ladder-routes.ts';
import type { QuarantinePort } from './quarantine-routes.ts';
import type { WhyPort } from './why-routes.ts';

/** One runner as operators see it. */
export interface RunnerReport {
  readonly model: string;
  readonly version: string;
  readonly variant: string;
  readonly view: RunnerView;
  /** Rows of the batch that it is running; 0 when idle. */
  readonly inflight: number;
}

/** What waits for one version. */
export interface QueueReport {
  readonly model: string;
  readonly version: string;
  readonly depth: number;
  readonly oldestAgeMs: number;
}

export type MetricsFormat = 'prometheus' | 'openmetrics';

/** What the admin edge may ask of the host, besides inference. */
export interface AdminPort extends DevicePort, LadderPort, QuarantinePort {
  readonly why: WhyPort;
  /** The page of metrics, in pieces of UTF-8; rejects with OVERLOADED when it can't be made in time. */
  metrics(format: MetricsFormat): Promise<readonly Uint8Array[]>;
  runners(): readonly RunnerReport[];
  queues(): readonly QueueReport[];
  /** Loads anew what is on disk; requests inside the old load finish. Rejects like `InferencePort.load`. */
  reload(model: string): Promise<void>;
  /** The effective configuration, without secrets. */
  configuration(): unknown;
}
