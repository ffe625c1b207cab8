import { type Criticality, GimbalError, nearestName } from '@gimbal/core';
import type { RequestHead } from '../../http1/exchange.ts';

const CRITICALITIES: readonly Criticality[] = ['critical', 'default', 'sheddable'];

/** Longest part of a value that a message repeats. */
const MAX_QUOTED = 64;

/** Longer budgets are this one: no inference waits a day. */
export const MAX_TIMEOUT_MS = 86_400_000;

/** Longest name of a tenant. */
const MAX_TENANT = 128;

/** How a caller wants to be served, as its headers say. */
export interface CallTerms {
  readonly timeoutMs: number | undefined;
  readonly criticality: Criticality;
  readonly tenant: string;
  readonly refusesDegraded: boolean;
}

/** What holds for the many that say nothing. */
export const NO_TERMS: CallTerms = {
  timeoutMs: undefined,
  criticality: 'default',
  tenant: '',
  refusesDegraded: false,
};

/** `NO_TERMS` itself when no header says anything. Throws MALFORMED_REQUEST or INVALID_INPUT. */
export function termsOf(head: RequestHead): CallTerms {
  const timeoutMs = timeoutOf(head);
  const criticality = criticalityOf(head);
  const tenant = tenantOf(head);
  const refusesDegraded = refusesDegradedOf(head);
  const says = timeoutMs !== undefined || criticality !== 'default' || tenant !== '' || refusesDegraded;
  return says ? { timeoutMs, criticality, tenant, refusesDegraded } : NO_TERMS;
}

/** The smaller of the caller's and the proxy's budgets, in ms; undefined when neither is given. */
function timeoutOf(head: RequestHead): number | undefined {
  const own = milliseconds(head, 'Inference-Timeout-Ms', 'inference-timeout-ms');
  const proxy = milliseconds(head, 'x-envoy-expected-rq-timeout-ms', 'x-envoy-expected-rq-timeout-ms');
  if (own === undefined || proxy === undefined) return own ?? proxy;
  return Math.min(own, proxy);
}

function criticalityOf(head: RequestHead): Criticality {
  const value = head.header('inference-criticality');
  if (value === undefined) return 'default';
  switch (value) {
    case 'critical':
    case 'default':
    case 'sheddable':
      return value;
    default:
      throw unknownCriticality(value);
  }
}

/** Among whom time is shared. A gateway that knows its callers sets it; nobody is authenticated by it. */
function tenantOf(head: RequestHead): string {
  const tenant = head.header('inference-tenant') ?? '';
  if (tenant.length <= MAX_TENANT) return tenant;
  const expected = `at most ${MAX_TENANT} characters`;
  throw new GimbalError(
    'INVALID_INPUT',
    `Cannot use header Inference-Tenant: expected ${expected}, got ${tenant.length}`,
    { fields: [{ pointer: 'header:Inference-Tenant', expected, received: `${tenant.length}` }] },
  );
}

function refusesDegradedOf(head: RequestHead): boolean {
  const value = head.header('inference-degradation');
  if (value === undefined || value === 'accept') return false;
  if (value === 'refuse') return true;
  const expected = '"accept" or "refuse"';
  throw new GimbalError(
    'INVALID_INPUT',
    `Cannot use header Inference-Degradation: expected ${expected}, got ${quoted(value)}`,
    { fields: [{ pointer: 'header:Inference-Degradation', expected, received: quoted(value) }] },
  );
}

/** A value of the client's, quoted and cut off. */
export function quoted(value: string): string {
  return JSON.stringify(value.length > MAX_QUOTED ? `${value.slice(0, MAX_QUOTED)}…` : value);
}

function unknownCriticality(value: string): GimbalError {
  const near = nearestName(value, CRITICALITIES);
  const expected = '"critical", "default" or "sheddable"';
  const hint = near === undefined ? undefined : `did you mean "${near}"?`;
  const message = `Cannot use header Inference-Criticality: expected ${expected}, got ${quoted(value)}`;
  return new GimbalError('INVALID_INPUT', hint === undefined ? message : `${message}; ${hint}`, {
    fields: [
      {
        pointer: 'header:Inference-Criticality',
        expected,
        received: quoted(value),
        ...(hint === undefined ? {} : { hint }),
      },
    ],
  });
}

function milliseconds(head: RequestHead, name: string, key: string): number | undefined {
  const text = head.header(key);
  if (text === undefined) return undefined;
  const value = isDecimal(text) ? Number(text) : Number.NaN;
  if (value > 0) return Math.min(value, MAX_TIMEOUT_MS);
  const expected = 'a positive number of milliseconds';
  throw new GimbalError(
    'MALFORMED_REQUEST',
    `Cannot use header ${name}: expected ${expected}, got ${quoted(text)}`,
    { fields: [{ pointer: `header:${name}`, expected, received: quoted(text) }] },
  );
}

/** Digits with at most one point; `Number` alone would take "", "0x10" and "1e400" too. */
function isDecimal(text: string): boolean {
  if (text.length === 0 || text.length > 20) return false;
  let points = 0;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code === 0x2e) points += 1;
    else if (code < 0x30 || code > 0x39) return false;
  }
  return points <= 1 && text !== '.';
}
