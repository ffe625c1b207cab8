/** How the answer to a case is checked, so that a mixed-up answer counts as an error. */
export type AnswerCheck =
  /** The integer right after the first occurrence of `key` is one of these. */
  | { readonly kind: 'integer-after'; readonly key: string; readonly expected: readonly number[] }
  /** Index of the largest of the last `count` float32 of the body. */
  | { readonly kind: 'argmax-float32'; readonly count: number; readonly expected: number }
  | { readonly kind: 'none' };

/** One request to send; cases are used in turn. */
export interface LoadCase {
  readonly path: string;
  /** Complete header lines besides Host and Content-Length, without CRLF. */
  readonly headers: readonly string[];
  readonly bodyFile: string;
  readonly check: AnswerCheck;
}

export interface Phase {
  readonly ratePerSecond: number;
  readonly seconds: number;
}

/** A closed loop keeps `connections` requests in flight; an open loop sends at given times whatever the answers do. */
export type LoadMode =
  | {
      readonly kind: 'closed';
      readonly connections: number;
      readonly warmupSeconds: number;
      readonly seconds: number;
    }
  | {
      readonly kind: 'open';
      readonly phases: readonly Phase[];
      readonly maxConnections: number;
      /** Exponential gaps from this seed; constant gaps when undefined. */
      readonly poissonSeed: number | undefined;
      /** Times that a client asks again at once after a failure, as clients without a budget do. Default: 0. */
      readonly retries?: number;
    };

export interface LoadPlan {
  readonly host: string;
  readonly port: number;
  readonly cases: readonly LoadCase[];
  readonly mode: LoadMode;
  /** A request without a full answer by then is cut off and counted as a time-out; undefined: 60 s. */
  readonly deadlineMs: number | undefined;
}

export interface LoadResult {
  readonly seconds: number;
  readonly started: number;
  /** Arrivals left out, since the generator could not keep up. */
  readonly unsent: number;
  readonly good: number;
  readonly goodPerSecond: number;
  readonly statuses: Readonly<Record<string, number>>;
  readonly failures: Readonly<Record<'timeout' | 'connect' | 'reset' | 'wrong-answer', number>>;
  readonly latencyMs: Latencies;
  /** How late the generator itself was at worst: over a few ms, its own figures are not to be trusted. */
  readonly maxLagMs: number;
  /** Good answers by the second of their intended start. */
  readonly goodBySecond: readonly number[];
  readonly offeredBySecond: readonly number[];
}

export interface Latencies {
  readonly count: number;
  readonly mean: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
}
