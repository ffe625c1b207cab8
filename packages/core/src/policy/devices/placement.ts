import type { DeviceState } from './device-health.ts';

/** A device that a runner might be put on. */
export interface PlacementCandidate {
  readonly uuid: string;
  readonly index: number;
  /** Undefined: can't be read. */
  readonly freeBytes: number | undefined;
  readonly totalBytes: number | undefined;
  /** Promised to runners that are still loading, and so not yet missing from the free memory. */
  readonly reservedBytes: number;
  /** Runners that are on it already. */
  readonly runners: number;
  readonly state: DeviceState['kind'];
}

export type Placement =
  | { readonly kind: 'device'; readonly uuid: string; readonly index: number }
  | { readonly kind: 'cpu'; readonly because: string };

export interface PlacementDemand {
  /** What the runner takes once it is warm; undefined: not known, as at its first load. */
  readonly neededBytes: number | undefined;
  /** Share of a device's memory that stays free after it. Default: 0.1: room for batches larger than those measured. */
  readonly headroomRatio?: number;
}

const USUAL_HEADROOM_RATIO = 0.1;

/**
 * Chooses the device for a runner: among those where it fits with headroom, healthy before pressured, then the one with
 * the most memory left (permits grow with it), then the one with the fewest runners, then the first. Faulted ones are
 * never chosen. Devices whose memory can't be read are the last resort: the runner finds out whether it fits.
 */
export function placeRunner(candidates: readonly PlacementCandidate[], demand: PlacementDemand): Placement {
  const usable = candidates.filter(({ state }) => state !== 'faulted');
  const fitting = usable.filter((candidate) => fits(candidate, demand));
  const [best] = fitting.sort(byPreference);
  if (best) return { kind: 'device', uuid: best.uuid, index: best.index };
  if (candidates.length === 0) return { kind: 'cpu', because: 'there is no device' };
  if (usable.length === 0) return { kind: 'cpu', because: 'every device is faulted' };
  const most = Math.max(...usable.map((candidate) => leftBytes(candidate) ?? 0));
  return {
    kind: 'cpu',
    because: `no device has room: ${demand.neededBytes ?? 0} bytes and headroom are needed, at most ${Math.max(0, most)} bytes are free`,
  };
}

function fits(candidate: PlacementCandidate, { neededBytes = 0, headroomRatio }: PlacementDemand): boolean {
  const left = leftBytes(candidate);
  if (left === undefined) return true;
  const headroom = (candidate.totalBytes ?? 0) * (headroomRatio ?? USUAL_HEADROOM_RATIO);
  return left - neededBytes >= headroom;
}

function leftBytes({ freeBytes, reservedBytes }: PlacementCandidate): number | undefined {
  return freeBytes === undefined ? undefined : freeBytes - reservedBytes;
}

function byPreference(left: PlacementCandidate, right: PlacementCandidate): number {
  const known = Number(right.freeBytes !== undefined) - Number(left.freeBytes !== undefined);
  const healthy = Number(right.state === 'healthy') - Number(left.state === 'healthy');
  const room = (leftBytes(right) ?? 0) - (leftBytes(left) ?? 0);
  return known || healthy || room || left.runners - right.runners || left.index - right.index;
}
