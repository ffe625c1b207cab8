import type { BatchingSpec, GimbalError, RunnerSpec, VersionSpec } from '@gimbal/core';
import type { ModelFile } from '@gimbal/core/config';
import type { FileDigests } from './file-digests.ts';
import type { FileProblem } from './file-problem.ts';

/** Where a version lies on disk, before anything of it has been read. */
export interface VersionSource {
  readonly model: string;
  readonly version: string;
  /** Absolute; no link may lead outside it. */
  readonly root: string;
  /** Absolute folder of the version's files. */
  readonly folder: string;
  /** The version's folder as messages name it, `digits/1`; "" when it is the root itself. */
  readonly shownFolder: string;
  /** Set when the model is one file among others in the folder: only it belongs to the version. */
  readonly onlyFile: string | undefined;
}

/** What holds for versions that say nothing else: `batching`, `runners` and `deadline` of gimbal.yaml. */
export interface VersionDefaults {
  readonly batching: BatchingSpec;
  readonly runners: RunnerSpec;
  readonly deadlineMs: number;
}

/** What reading a version needs besides its folder. */
export interface ReadingContext {
  readonly defaults: VersionDefaults;
  /** Cores to plan threads with. */
  readonly cores: number;
  readonly digests: FileDigests;
}

export interface ReadVersion {
  readonly ok: true;
  readonly model: string;
  readonly version: string;
  readonly spec: VersionSpec;
  /** Things that people should know and that stop nothing. */
  readonly notes: readonly string[];
}

export interface RefusedVersion {
  readonly ok: false;
  readonly model: string;
  readonly version: string;
  /** MODEL_UNAVAILABLE, with everything that is wrong in its fields. */
  readonly error: GimbalError;
  readonly problems: readonly FileProblem[];
}

export type VersionReading = ReadVersion | RefusedVersion;

/** model.yaml, read once for all versions of its model. */
export interface ModelDeclaration {
  readonly declared: ModelFile;
  readonly problems: readonly FileProblem[];
}
