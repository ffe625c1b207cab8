import {
  type AnswerParameters,
  type FieldError,
  type JsonScan,
  nearestName,
  type VersionSpec,
} from '@gimbal/core';
import { MAX_TIMEOUT_MS, quoted } from '../front/call-headers.ts';
import { refuseField } from './field-refusal.ts';

export const PARAMETER_NAMES = ['top_k', 'threshold', 'timeout_ms'] as const;
export type ParameterName = (typeof PARAMETER_NAMES)[number];

/** More classes than any model here has; asking for all of them is fine. */
export const MAX_TOP_K = 100_000;

interface ParameterRule {
  readonly expected: string;
  fits(value: number): boolean;
}

const RULES: Readonly<Record<ParameterName, ParameterRule>> = {
  top_k: {
    expected: `a whole number from 1 to ${MAX_TOP_K}`,
    fits: (value) => Number.isInteger(value) && value >= 1 && value <= MAX_TOP_K,
  },
  threshold: { expected: 'a number from 0 to 1', fits: (value) => value >= 0 && value <= 1 },
  timeout_ms: {
    expected: `a number of milliseconds above 0, at most ${MAX_TIMEOUT_MS}`,
    fits: (value) => value > 0 && value <= MAX_TIMEOUT_MS,
  },
};

/** What a request asks for besides its inputs. */
export interface PredictParameters {
  readonly answer: AnswerParameters;
  readonly timeoutMs: number | undefined;
}

/** Collects and checks parameters, wherever they come from. */
export class ParameterList {
  readonly #values: Partial<Record<ParameterName, number>> = {};

  set(name: ParameterName, value: number, pointer: string): void {
    const rule = RULES[name];
    if (!rule.fits(value)) throw refuse(name, { pointer, expected: rule.expected, received: String(value) });
    this.#values[name] = value;
  }

  /** The JSON object ahead. */
  readObject(scan: JsonScan, pointer: string): void {
    scan.openObject();
    for (let key = scan.nextKey(); key !== undefined; key = scan.nextKey()) {
      const name = knownName(key, pointer);
      this.readValue(scan, name, `${pointer}/${name}`);
    }
  }

  /** The JSON value ahead. */
  readValue(scan: JsonScan, name: ParameterName, pointer: string): void {
    const kind = scan.kind();
    if (kind !== 'number')
      throw refuse(name, { pointer, expected: RULES[name].expected, received: `a ${kind}` });
    this.set(name, scan.number(), pointer);
  }

  /** The query of a request whose body has no place for parameters. */
  readQuery(query: ReadonlyMap<string, string>): void {
    for (const [key, text] of query) {
      const name = knownName(key, 'query');
      this.setText(name, text, `query:${name}`);
    }
  }

  /** A number written as text. */
  setText(name: ParameterName, text: string, pointer: string): void {
    const value = text.trim() === '' ? Number.NaN : Number(text);
    if (Number.isNaN(value)) {
      throw refuse(name, { pointer, expected: RULES[name].expected, received: quoted(text) });
    }
    this.set(name, value, pointer);
  }

  /** What was given, and the version's defaults for the rest. */
  resolve(spec: VersionSpec): PredictParameters {
    const { top_k: topK, threshold, timeout_ms: timeoutMs } = this.#values;
    return { answer: { topK: topK ?? spec.classification.topK, threshold: threshold ?? 0 }, timeoutMs };
  }
}

function knownName(key: string, place: string): ParameterName {
  switch (key) {
    case 'top_k':
    case 'threshold':
    case 'timeout_ms':
      return key;
    default:
      throw unknownParameter(key, place === 'query' ? `query:${key}` : place);
  }
}

function unknownParameter(key: string, pointer: string) {
  const near = nearestName(key, PARAMETER_NAMES);
  return refuseField('use the parameters', {
    pointer,
    expected: 'one of "top_k", "threshold", "timeout_ms"',
    received: quoted(key),
    ...(near === undefined ? {} : { hint: `did you mean "${near}"?` }),
  });
}

function refuse(name: ParameterName, field: FieldError) {
  return refuseField(`use parameter "${name}"`, field);
}
