import type { Clock, LadderReport, VersionLadder, VersionSpec } from '@gimbal/core';
import type { PendingWork } from './call.ts';

/** A version's ladder as operators see it. */
export function ladderReport(
  spec: VersionSpec,
  ladder: VersionLadder<PendingWork>,
  about: { readonly clock: Clock; readonly requests: readonly number[] },
): LadderReport {
  const { clock, requests } = about;
  const now = clock.now();
  const view = ladder.controller.view();
  const wallTimeMs = (at: number): number => clock.wallTimeMs() - (now - at);
  return {
    model: spec.model,
    version: spec.version,
    position: view.position,
    pinned: view.pinned && {
      rung: view.pinned.rung,
      expiresInMs: Number.isFinite(view.pinned.until) ? view.pinned.until - now : undefined,
    },
    rungs: spec.variants.map(({ name, qualityRatio }, rung) => {
      const because = ladder.closedBecause(rung);
      return {
        rung,
        variant: name,
        qualityRatio,
        shareRatio: view.shares[rung] ?? 0,
        available: because === undefined,
        because,
        requests: requests[rung] ?? 0,
        seconds: (view.degradedMs[rung] ?? 0) / 1000,
        breaker: ladder.breakerState(rung),
      };
    }),
    history: view.history.map(({ at, from, to, because }) => ({
      wallTimeMs: wallTimeMs(at),
      from,
      to,
      because,
    })),
  };
}
