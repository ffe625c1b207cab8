import { NEVER, type PoolNotice, unreachable, type VersionSpec } from '@gimbal/core';
import type { Log } from '../telemetry/log.ts';
import type { RunnerNotice } from './served-variants.ts';

/** One line for each thing that happens to a runner: what was lost at 3:00 must be in the log, also when it was idle. */
export function logRunner(log: Log, { model, version }: VersionSpec, notice: RunnerNotice): void {
  const place = { model, version, variant: notice.variant };
  switch (notice.kind) {
    case 'ready':
      log.info('A runner is ready', { ...place, runner: notice.runner, device: notice.device });
      break;
    case 'retiring':
      log.info('A runner gets no more work: it is replaced or stopped', { ...place, runner: notice.runner });
      break;
    case 'lost': {
      const fields = {
        ...place,
        runner: notice.runner,
        code: notice.error.code,
        reason: notice.error.message,
        cause: notice.end?.cause,
      };
      if (notice.error.code === 'DRAINING') log.info('A runner has stopped', fields);
      else log.warn('A runner was lost; another is started', fields);
      break;
    }
    case 'faulted':
      log.error('A variant has no working runner', { ...place, reason: notice.error.message });
      break;
    case 'recovered':
      log.info('A variant works again', place);
      break;
    case 'told':
      logNotice(log, place, notice.notice);
      break;
    default:
      unreachable(notice);
  }
}

function logNotice(log: Log, place: object, notice: PoolNotice): void {
  switch (notice.kind) {
    case 'memory-growth': {
      const { runner, verdict, bytesPerRequest, limitInMs, residentBytes, because } = notice;
      log.warn('Memory of a runner grows', {
        ...place,
        runner,
        verdict,
        bytes_per_request: Math.round(bytesPerRequest),
        resident_bytes: residentBytes,
        limit_in_ms: limitInMs === NEVER ? undefined : Math.round(limitInMs),
        reason: because,
      });
      break;
    }
    case 'recycling':
      log.info('A runner is replaced', { ...place, runner: notice.runner, reason: notice.because });
      break;
    case 'took-over':
      log.info('The spare runner took over', { ...place, runner: notice.runner, lost: notice.lost });
      break;
    case 'limitation':
      log.info('Runners work without something that this machine refuses', {
        ...place,
        reason: notice.because,
      });
      break;
    default:
      unreachable(notice);
  }
}
