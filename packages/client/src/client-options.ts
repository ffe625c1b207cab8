import { LatencyWindows } from './call/latency-window.ts';
import { TokenBudget } from './call/token-budget.ts';
import { ValidationError } from './errors.ts';
import type { Hooks } from './hooks.ts';
import { type Ports, systemPorts } from './ports.ts';

export interface HedgeOptions {
  /** Share of the calls that may be sent twice, in [0, 1]. */
  readonly budget?: number;
  /** When the second request is sent; left out: after the p95 of the model's last answers. */
  readonly afterMs?: number;
}

export interface ClientOptions {
  /** `http://127.0.0.1:8000`; a path before the API's own is kept. */
  readonly baseUrl: string | URL;
  /** Sent as `Authorization: Bearer …`. */
  readonly apiKey?: string;
  /** The longest a call may take, its retries and waits included. */
  readonly timeoutMs?: number;
  /** The longest one attempt may take, anew for each; left out: what remains of the call. */
  readonly attemptTimeoutMs?: number;
  /** Further attempts after the first. */
  readonly maxRetries?: number;
  /** Share of the client's calls that may be retried, in [0, 1]; 0 switches retries off. */
  readonly retryBudget?: number;
  /** A server that asks for a longer wait is not waited for: the call fails at once, with `retryAfterMs`. */
  readonly maxRetryDelayMs?: number;
  /** Largest answer that is read. */
  readonly maxAnswerBytes?: number;
  /** Headers of every request. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly fetch?: typeof globalThis.fetch;
  readonly hooks?: Hooks;
  /** Sends a second request beside a slow one and takes the first answer; off when left out. */
  readonly hedge?: HedgeOptions | boolean;
  /** Clock, timers and randomness, for tests. */
  readonly ports?: Ports;
}

/** Inference takes seconds at most; a caller that waits longer has given up. */
const DEFAULT_TIMEOUT_MS = 30_000;
/** The third attempt rarely succeeds where two have failed, and triples the load. */
const DEFAULT_MAX_RETRIES = 2;
/** More than a tenth of the traffic again is what brings a struggling server down. */
const DEFAULT_RETRY_BUDGET = 0.1;
const DEFAULT_MAX_RETRY_DELAY_MS = 20_000;
/** Four times the server's body limit. */
const DEFAULT_MAX_ANSWER_BYTES = 256 * 1024 * 1024;
/** Clients with little traffic may retry too. */
const RETRY_FLOOR = 10;
/** One call in twenty is slower than the p95. */
const DEFAULT_HEDGE_BUDGET = 0.05;
const MOST_RETRIES = 10;
/** As the server has it: no inference waits a day. */
export const MAX_TIMEOUT_MS = 86_400_000;

/** What all calls of a client share. */
export interface Settings {
  /** Without a slash at its end. */
  readonly baseUrl: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly attemptTimeoutMs: number;
  readonly maxRetries: number;
  readonly maxRetryDelayMs: number;
  readonly maxAnswerBytes: number;
  readonly fetch: typeof globalThis.fetch;
  readonly hooks: Hooks;
  readonly ports: Ports;
  readonly retries: TokenBudget;
  readonly hedging: Hedging | undefined;
}

export interface Hedging {
  readonly afterMs: number | undefined;
  readonly budget: TokenBudget;
  readonly latencies: LatencyWindows;
}

/** Checks the options and fills in what is left out. Throws a ValidationError. */
export function settingsOf(options: ClientOptions): Settings {
  const ports = options.ports ?? systemPorts;
  const retryBudget = inRange('retryBudget', options.retryBudget ?? DEFAULT_RETRY_BUDGET, { most: 1 });
  return {
    baseUrl: baseUrlOf(options.baseUrl),
    headers: {
      ...options.headers,
      ...(options.apiKey === undefined ? {} : { authorization: `Bearer ${options.apiKey}` }),
    },
    timeoutMs: durationOf('timeoutMs', options.timeoutMs ?? DEFAULT_TIMEOUT_MS),
    attemptTimeoutMs: durationOf('attemptTimeoutMs', options.attemptTimeoutMs ?? MAX_TIMEOUT_MS),
    maxRetries: Math.floor(
      inRange('maxRetries', options.maxRetries ?? DEFAULT_MAX_RETRIES, { most: MOST_RETRIES }),
    ),
    maxRetryDelayMs: inRange('maxRetryDelayMs', options.maxRetryDelayMs ?? DEFAULT_MAX_RETRY_DELAY_MS, {
      most: MAX_TIMEOUT_MS,
    }),
    maxAnswerBytes: inRange('maxAnswerBytes', options.maxAnswerBytes ?? DEFAULT_MAX_ANSWER_BYTES, {
      most: Number.MAX_SAFE_INTEGER,
    }),
    // A bare reference would lose its receiver, which browsers check.
    fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
    hooks: options.hooks ?? {},
    ports,
    retries: new TokenBudget({ ratio: retryBudget, floor: retryBudget > 0 ? RETRY_FLOOR : 0 }, ports.now()),
    hedging: hedgingOf(options.hedge, ports),
  };
}

/** A duration above 0. An instant since 1970 is a usual mistake, and far above the limit. */
export function durationOf(name: string, value: number): number {
  if (value > 0 && value <= MAX_TIMEOUT_MS) return value;
  throw new ValidationError(
    `Cannot use ${name}: expected a duration in ms above 0 and at most ${MAX_TIMEOUT_MS}, got ${value}`,
  );
}

function hedgingOf(hedge: ClientOptions['hedge'], ports: Ports): Hedging | undefined {
  if (hedge === undefined || hedge === false) return undefined;
  const { budget = DEFAULT_HEDGE_BUDGET, afterMs } = hedge === true ? {} : hedge;
  const ratio = inRange('hedge.budget', budget, { most: 1 });
  if (afterMs !== undefined) durationOf('hedge.afterMs', afterMs);
  return {
    afterMs,
    // One to begin with: a budget of a twentieth would else give none for the first twenty calls.
    budget: new TokenBudget({ ratio, floor: ratio > 0 ? 1 : 0 }, ports.now()),
    latencies: new LatencyWindows(),
  };
}

function baseUrlOf(given: string | URL): string {
  const text = String(given);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && (url.protocol === 'http:' || url.protocol === 'https:')) {
    return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
  }
  throw new ValidationError(
    `Cannot use baseUrl: expected a URL such as http://127.0.0.1:8000, got ${JSON.stringify(text)}`,
  );
}

function inRange(name: string, value: number, { most }: { readonly most: number }): number {
  if (value >= 0 && value <= most) return value;
  throw new ValidationError(`Cannot use ${name}: expected a number from 0 to ${most}, got ${value}`);
}
