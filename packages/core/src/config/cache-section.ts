import { field, section } from './field.ts';
import { byteSize, duration } from './leaf.ts';

const MIB = 1024 * 1024;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** What is kept of answers, for the models that say `cache: true`. */
export const cacheSection = section('Answers that are kept, of models that say `cache: true`.', {
  maxBytes: field(byteSize({ min: 1 * MIB, max: 1024 * 1024 * MIB }), {
    default: 64 * MIB,
    description: 'Memory of all kept answers together; the least recently used leave first.',
    reason: 'Tens of thousands of JSON answers, and no share of a small container that would be missed.',
  }),
  ttlMs: field(duration({ minMs: 1, maxMs: 365 * DAY_MS, unit: 'in-name' }), {
    default: HOUR_MS,
    description: 'How long an answer is given again.',
    reason: 'A version is immutable: its answers only go out of use.',
  }),
  staleMs: field(duration({ minMs: 0, maxMs: 365 * DAY_MS, unit: 'in-name' }), {
    default: DAY_MS,
    description: 'How long after that it may still be given instead of an error.',
    reason: 'An outage that lasts longer is not one that old answers should hide.',
  }),
});
