import { ERROR_CODES, type ErrorCode, type FieldError, GimbalError, nearestName } from '@gimbal/core';
import { FAULT_KINDS, type Fault, type FaultKind, type FaultRequest, type FaultTarget } from './fault.ts';

/** A fault of which nothing is said lasts so long … */
const USUAL_DURATION_MS = 10_000;
/** … and none lasts longer: whoever forgets one finds the server well again. */
const MAX_DURATION_MS = 600_000;
const MAX_BATCHES = 1_000_000;
const MAX_RUNNERS = 256;
const MAX_FACTOR = 1000;
const MAX_ADD_MS = 60_000;
const MAX_LEAK_BYTES = 64 * 1024 * 1024;
/** Hexadecimal digits of the bytes that a poison begins with. */
const MAX_PREFIX_DIGITS = 128;
const MAX_NAME_LENGTH = 256;

const MEMBERS = {
  common: ['kind', 'model', 'version', 'variant', 'runner', 'duration_ms', 'batches', 'runners'],
  crash: ['input_prefix'],
  slow: ['factor', 'add_ms'],
  fail: ['ratio', 'code'],
  'out-of-memory': ['above_rows'],
  leak: ['bytes_per_batch'],
} as const satisfies Partial<Record<FaultKind | 'common', readonly string[]>>;

/** Reads `{"kind": "slow", "model": "digits", "factor": 5, "duration_ms": 5000}`. Throws INVALID_INPUT with all that is wrong. */
export function readFaultRequest(body: unknown): FaultRequest {
  const fields = new Fields(body);
  const kind = fields.kind();
  const fault = kind && readFault(kind, fields);
  const target: FaultTarget = {
    ...fields.name('model'),
    ...fields.name('version'),
    ...fields.name('variant'),
    ...fields.name('runner'),
  };
  const durationMs = fields.number('duration_ms', {
    low: 1,
    high: MAX_DURATION_MS,
    usual: USUAL_DURATION_MS,
  });
  const batches = fields.number('batches', { low: 1, high: MAX_BATCHES, usual: MAX_BATCHES, whole: true });
  // A signal without a target would stop all models at once.
  const usual = kind === 'kill' || kind === 'freeze' ? 1 : MAX_RUNNERS;
  const runners = fields.number('runners', { low: 1, high: MAX_RUNNERS, usual, whole: true });
  fields.finish(kind);
  return { fault: fault as Fault, target, durationMs, batches, runners };
}

function readFault(kind: FaultKind, fields: Fields): Fault {
  switch (kind) {
    case 'crash':
      return { kind, ...fields.prefix() };
    case 'slow':
      return {
        kind,
        factor: fields.number('factor', { low: 1, high: MAX_FACTOR, usual: 1 }),
        addMs: fields.number('add_ms', { low: 0, high: MAX_ADD_MS, usual: 0 }),
      };
    case 'fail':
      return { kind, ratio: fields.number('ratio', { low: 0, high: 1, usual: 1 }), code: fields.code() };
    case 'out-of-memory':
      return { kind, aboveRows: fields.number('above_rows', { low: 0, high: 1e6, usual: 0, whole: true }) };
    case 'leak':
      return {
        kind,
        bytesPerBatch: fields.number('bytes_per_batch', {
          low: 1,
          high: MAX_LEAK_BYTES,
          usual: 1024 * 1024,
          whole: true,
        }),
      };
    default:
      return { kind };
  }
}

interface NumberRange {
  readonly low: number;
  readonly high: number;
  readonly usual: number;
  readonly whole?: boolean;
}

/** The members of the body, and what is wrong with them. */
class Fields {
  readonly #members: Readonly<Record<string, unknown>>;
  readonly #wrong: FieldError[] = [];

  constructor(body: unknown) {
    if (typeof body !== 'object' || body === null || Array.isArray(body)) {
      throw new GimbalError(
        'MALFORMED_REQUEST',
        'Cannot inject a fault: the body is no JSON object, expected {"kind": "slow", "factor": 5}',
      );
    }
    this.#members = body as Record<string, unknown>;
  }

  kind(): FaultKind | undefined {
    const { kind } = this.#members;
    const known = FAULT_KINDS.find((candidate) => candidate === kind);
    if (known) return known;
    const near = typeof kind === 'string' ? nearestName(kind, FAULT_KINDS) : undefined;
    const hint = near === undefined ? {} : { hint: `did you mean ${JSON.stringify(near)}?` };
    this.#refuse('kind', `one of ${FAULT_KINDS.join(', ')}`, hint);
    return undefined;
  }

  name<Name extends keyof FaultTarget>(name: Name): FaultTarget {
    const value = this.#members[name];
    if (value === undefined) return {};
    // A process id may be written as a number.
    const text = typeof value === 'number' ? String(value) : value;
    if (typeof text === 'string' && text.length > 0 && text.length <= MAX_NAME_LENGTH)
      return { [name]: text };
    this.#refuse(name, `a text of 1 to ${MAX_NAME_LENGTH} characters`);
    return {};
  }

  number(name: string, { low, high, usual, whole = false }: NumberRange): number {
    const value = this.#members[name];
    if (value === undefined) return usual;
    const isNumber = typeof value === 'number' && value >= low && value <= high;
    if (isNumber && (!whole || Number.isInteger(value))) return value;
    this.#refuse(name, `a ${whole ? 'whole ' : ''}number from ${low} to ${high}`);
    return usual;
  }

  code(): ErrorCode {
    const { code = 'MODEL_FAULT' } = this.#members;
    const known = ERROR_CODES.find((candidate) => candidate === code);
    if (known) return known;
    this.#refuse('code', 'a code of the error registry, such as MODEL_FAULT');
    return 'MODEL_FAULT';
  }

  prefix(): { inputPrefix?: string } {
    const prefix = this.#members.input_prefix;
    if (prefix === undefined) return {};
    if (
      typeof prefix === 'string' &&
      prefix.length <= MAX_PREFIX_DIGITS &&
      /^([0-9a-f]{2})+$/i.test(prefix)
    ) {
      return { inputPrefix: prefix.toLowerCase() };
    }
    this.#refuse('input_prefix', `1 to ${MAX_PREFIX_DIGITS / 2} bytes in hexadecimal`);
    return {};
  }

  /** Throws when anything was wrong, a member that nobody reads included: it would be a misspelt bound. */
  finish(kind: FaultKind | undefined): void {
    const own = (MEMBERS as Partial<Record<string, readonly string[]>>)[kind ?? ''] ?? [];
    const known = [...MEMBERS.common, ...own];
    for (const name of kind ? Object.keys(this.#members) : []) {
      if (!known.includes(name)) this.#refuse(name, `no such member; one of ${known.join(', ')}`);
    }
    if (this.#wrong.length === 0) return;
    const names = this.#wrong.map(({ pointer }) => pointer.slice(1)).join(', ');
    throw new GimbalError('INVALID_INPUT', `Cannot inject a fault: ${names} can't be used`, {
      fields: this.#wrong,
    });
  }

  #refuse(name: string, expected: string, more: { hint?: string } = {}): void {
    const received = JSON.stringify(this.#members[name]) ?? 'nothing';
    this.#wrong.push({ pointer: `/${name}`, expected, received: received.slice(0, 200), ...more });
  }
}
