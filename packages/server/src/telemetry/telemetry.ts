import type { CallObserver, Clock } from '@gimbal/core';
import type { LogLevel } from './access-line.ts';
import { DecisionLog } from './decision-log.ts';
import { LineSink, type LineTarget } from './line-sink.ts';
import { Log, type LogOptions } from './log.ts';
import type { MetricSources } from './metric-sources.ts';
import { Metrics } from './metrics.ts';
import { observeAll } from './observer.ts';

/** What a log may still need at the end, when its reader is slow. */
const FLUSH_LIMIT_MS = 1_000;

export interface TelemetryOptions {
  readonly clock: Clock;
  readonly sources: MetricSources;
  readonly log: {
    readonly target: LineTarget;
    readonly level: LogLevel | 'silent';
    readonly access: LogOptions['access'];
    readonly format: LogOptions['format'];
  };
  readonly metrics: { readonly compat: readonly 'triton'[]; readonly thresholdsSeconds: readonly number[] };
  readonly build: { readonly version: string; readonly node: string; readonly runtime: string };
}

/** Log and metrics of one server, fed by one observer. */
export interface Telemetry {
  readonly log: Log;
  readonly metrics: Metrics;
  readonly observer: CallObserver;
  /** What was decided lately. */
  readonly decisions: DecisionLog;
  /** Writes what is left of the log. Lines after this are lost. */
  close(): Promise<void>;
}

export function createTelemetry(options: TelemetryOptions): Telemetry {
  const { clock } = options;
  const sink = new LineSink(options.log.target);
  const { level, access, format } = options.log;
  const log = new Log({ clock, sink, level, access, format, serviceName: 'gimbal' });
  const metrics = new Metrics({
    clock,
    sources: options.sources,
    compat: options.metrics.compat,
    thresholdsSeconds: options.metrics.thresholdsSeconds,
    build: options.build,
    droppedLogLines: () => sink.dropped,
  });
  const decisions = new DecisionLog();
  return {
    log,
    metrics,
    decisions,
    observer: observeAll([metrics, log, decisions], (err) =>
      log.error('Cannot record a finished call', { err }),
    ),
    close: async () => {
      metrics.close();
      await sink.close(FLUSH_LIMIT_MS);
    },
  };
}
