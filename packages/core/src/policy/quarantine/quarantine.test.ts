import { describe, expect, it } from 'vitest';
import { type PoisonInput, Quarantine } from './quarantine.ts';

const EXPIRY_MS = 1000;

function aPoison(fingerprint: string, over: Partial<PoisonInput> = {}): PoisonInput {
  return { fingerprint, sketch: 7, model: 'photos', version: '1', because: 'it crashed twice', ...over };
}

describe('Quarantine', () => {
  it('refuses what was added until it expires, also while it is being hit', () => {
    const quarantine = new Quarantine({ expiryMs: EXPIRY_MS });
    quarantine.add(aPoison('a'), 0);
    expect(quarantine.isQuarantined('a', EXPIRY_MS - 1)).toBe(true);
    expect(quarantine.isQuarantined('b', EXPIRY_MS - 1)).toBe(false);
    expect(quarantine.isQuarantined('a', EXPIRY_MS)).toBe(false);
    expect(quarantine.size).toBe(0);
  });

  it('suspects only sketches of what it refuses, and as long as one of them is left', () => {
    const quarantine = new Quarantine();
    expect(quarantine.suspects(7)).toBe(false);
    quarantine.add(aPoison('a'), 0);
    quarantine.add(aPoison('b'), 0);
    expect([quarantine.suspects(7), quarantine.suspects(8)]).toEqual([true, false]);
    expect(quarantine.release('a')).toBe(true);
    expect(quarantine.suspects(7)).toBe(true);
    expect(quarantine.release('b')).toBe(true);
    expect(quarantine.suspects(7)).toBe(false);
    expect(quarantine.release('b')).toBe(false);
  });

  it('does not suspect what has expired, once it has looked', () => {
    const quarantine = new Quarantine({ expiryMs: EXPIRY_MS });
    quarantine.add(aPoison('a'), 0);
    expect(quarantine.isQuarantined('another of the same sketch', EXPIRY_MS)).toBe(false);
    expect(quarantine.suspects(7)).toBe(false);
  });

  it('starts anew for an input that is added again', () => {
    const quarantine = new Quarantine({ expiryMs: EXPIRY_MS });
    quarantine.add(aPoison('a'), 0);
    quarantine.add(aPoison('a'), 900);
    expect(quarantine.size).toBe(1);
    expect(quarantine.isQuarantined('a', 1899)).toBe(true);
    expect(quarantine.isQuarantined('a', 1900)).toBe(false);
    expect(quarantine.suspects(7)).toBe(false);
  });

  it('forgets the oldest when it is full', () => {
    const quarantine = new Quarantine({ maxInputs: 3 });
    for (let index = 0; index < 10; index += 1) quarantine.add(aPoison(`${index}`, { sketch: index }), index);
    expect(quarantine.list(10).map(({ fingerprint }) => fingerprint)).toEqual(['7', '8', '9']);
    expect(quarantine.suspects(6)).toBe(false);
    expect(quarantine.suspects(7)).toBe(true);
  });

  it('shows operators what is refused, why, how long, and how often it was hit', () => {
    const quarantine = new Quarantine({ expiryMs: EXPIRY_MS });
    quarantine.add(aPoison('a'), 0);
    quarantine.add(aPoison('b'), 600);
    quarantine.isQuarantined('a', 700);
    quarantine.isQuarantined('a', 700);
    expect(quarantine.list(700)).toEqual([
      { ...aPoison('a'), ageMs: 700, expiresInMs: 300, hits: 2 },
      { ...aPoison('b'), ageMs: 100, expiresInMs: 900, hits: 0 },
    ]);
    expect(quarantine.list(1000).map(({ fingerprint }) => fingerprint)).toEqual(['b']);
    expect(quarantine.hits).toBe(2);
  });
});
