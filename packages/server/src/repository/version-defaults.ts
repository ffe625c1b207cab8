import type { Configuration } from '@gimbal/core/config';
import type { VersionDefaults } from './version-source.ts';

/** The part of a configuration that versions inherit, in the terms of their own specification. */
export function versionDefaults({ batching, runners, deadline }: Configuration): VersionDefaults {
  return {
    batching: {
      maxSize: batching.maxSize,
      maxDelayMs: batching.maxDelay,
      preferredSizes: batching.preferredSizes,
    },
    runners: {
      count: runners.count,
      threads: runners.threads,
      spare: runners.spare,
      recycleBatches: runners.recycleBatches,
      recycleAgeMs: runners.recycleAge,
      recycleGrowthBytes: runners.recycleGrowth,
    },
    deadlineMs: deadline,
  };
}
