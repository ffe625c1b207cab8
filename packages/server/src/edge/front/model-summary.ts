import type { CatalogueEntry, TensorSpec, VersionSpec, VersionView } from '@gimbal/core';

/** Models as `GET /v1/models` and the pages show them. Nothing here holds a path of the server. */

export interface ModelSummary {
  readonly name: string;
  readonly task: string | null;
  /** Of the version that takes requests, or the best there is. */
  readonly state: string;
  /** The version that requests without one go to. */
  readonly default_version: string | null;
  readonly versions: readonly VersionSummary[];
  readonly failures: readonly { readonly version: string; readonly reason: string }[];
}

export interface VersionSummary {
  readonly version: string;
  readonly state: string;
  readonly reason: string | null;
  readonly variants: readonly { readonly name: string; readonly state: string; readonly runners: number }[];
}

export interface ModelDetail extends ModelSummary {
  readonly digest: string | null;
  readonly batching: boolean;
  readonly inputs: readonly TensorSummary[];
  readonly outputs: readonly TensorSummary[];
  readonly labels: { readonly count: number; readonly first: readonly string[] } | null;
  readonly columns: readonly string[] | null;
  readonly limits: ModelLimits | null;
  readonly profile: ProfileSummary | null;
  readonly derivations: readonly {
    readonly field: string;
    readonly value: string;
    readonly because: string;
  }[];
}

export interface TensorSummary {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
}

export interface ModelLimits {
  readonly max_body_bytes: number;
  readonly max_inputs: number;
  readonly max_rows: number;
  readonly deadline_ms: number;
  readonly max_delay_ms: number;
}

export interface ProfileSummary {
  readonly fixed_ms: number;
  readonly per_row_ms: number;
  readonly best_rows: number;
  readonly points: readonly { readonly rows: number; readonly median_ms: number }[];
}

export interface SummaryLimits {
  readonly maxBodyBytes: number;
  readonly maxInputs: number;
}

/** Labels that a detail shows. */
const SHOWN_LABELS = 10;

/** The version that takes requests, or that would if it were ready. */
export function defaultVersionOf({ versions }: CatalogueEntry): VersionView | undefined {
  return versions.findLast(({ state }) => state === 'ready') ?? versions.at(-1);
}

export function summariseModel(entry: CatalogueEntry): ModelSummary {
  const version = defaultVersionOf(entry);
  return {
    name: entry.model,
    task: version?.spec.task ?? null,
    state: version?.state ?? 'unavailable',
    default_version: version?.state === 'ready' ? version.spec.version : null,
    versions: entry.versions.map(summariseVersion),
    failures: entry.failures,
  };
}

export function detailModel(entry: CatalogueEntry, limits: SummaryLimits): ModelDetail {
  const version = defaultVersionOf(entry);
  const spec = version?.spec;
  return {
    ...summariseModel(entry),
    digest: spec?.digest ?? null,
    batching: spec?.signature.batchAxis === 'dynamic',
    inputs: spec?.signature.inputs.map(summariseTensor) ?? [],
    outputs: spec?.signature.outputs.map(summariseTensor) ?? [],
    labels: labelsOf(spec),
    columns: spec?.columns ?? null,
    limits: version ? limitsOf(version, limits) : null,
    profile: profileOf(version),
    derivations: spec?.derivations ?? [],
  };
}

function summariseVersion({ spec, state, reason, variants }: VersionView): VersionSummary {
  return {
    version: spec.version,
    state,
    reason: reason ?? null,
    variants: variants.map(({ name, state: variantState, runners }) => ({
      name,
      state: variantState,
      runners,
    })),
  };
}

function summariseTensor({ name, datatype, shape }: TensorSpec): TensorSummary {
  return { name, datatype, shape };
}

function labelsOf(spec: VersionSpec | undefined): ModelDetail['labels'] {
  const labels = spec?.labels;
  return labels ? { count: labels.length, first: labels.slice(0, SHOWN_LABELS) } : null;
}

function limitsOf({ spec, maxRows }: VersionView, limits: SummaryLimits): ModelLimits {
  return {
    max_body_bytes: limits.maxBodyBytes,
    max_inputs: limits.maxInputs,
    max_rows: maxRows,
    deadline_ms: spec.deadlineMs,
    max_delay_ms: spec.batching.maxDelayMs,
  };
}

function profileOf(version: VersionView | undefined): ProfileSummary | null {
  const profile = version?.profile;
  if (!profile) return null;
  return {
    fixed_ms: rounded(profile.fixedMs),
    per_row_ms: rounded(profile.perRowMs),
    best_rows: profile.bestRows,
    points: profile.points.map(({ rows, medianMs }) => ({ rows, median_ms: rounded(medianMs) })),
  };
}

function rounded(value: number): number {
  return Math.round(value * 10_000) / 10_000;
}
