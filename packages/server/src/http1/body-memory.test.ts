import type { GimbalError } from '@gimbal/core';
import { describe, expect, it } from 'vitest';
import { BodyIntake } from './body-intake.ts';
import { BodyMemory } from './body-memory.ts';
import { HeadParser } from './head-parser.ts';
import { TEST_LIMITS } from './testing/test-server.ts';

const MIB = 1024 * 1024;

/** A body of 3 MiB of which 2 MiB have come. */
function halfABody(memory: BodyMemory): { intake: BodyIntake; failures: GimbalError[] } {
  const parser = new HeadParser(TEST_LIMITS);
  const bytes = Buffer.from(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${3 * MIB}\r\n\r\n`);
  parser.advance({ bytes, at: 0, end: bytes.length });
  const intake = new BodyIntake(memory);
  const failures: GimbalError[] = [];
  intake.begin(parser.head);
  intake.askWhole(
    8 * MIB,
    () => {},
    (error) => failures.push(error),
  );
  const chunk = Buffer.alloc(2 * MIB);
  intake.take({ bytes: chunk, at: 0, end: chunk.length });
  return { intake, failures };
}

describe('memory for bodies that are arriving', () => {
  it('is shared: the body that no room is left for is refused, and only it', () => {
    const memory = new BodyMemory(5 * MIB);
    const first = halfABody(memory);
    const second = halfABody(memory);
    const third = halfABody(memory);
    expect(first.failures).toEqual([]);
    expect(second.failures).toEqual([]);
    expect(third.failures).toMatchObject([{ code: 'OVERLOADED', retryAfterMs: 1000 }]);
    expect(memory.usedBytes).toBeLessThanOrEqual(5 * MIB);
  });

  it('returns when bodies end, fail or are given up', () => {
    const memory = new BodyMemory(16 * MIB);
    const ended = halfABody(memory);
    const rest = Buffer.alloc(MIB);
    ended.intake.take({ bytes: rest, at: 0, end: rest.length });
    halfABody(memory).intake.stop();
    halfABody(memory).intake.skip();
    expect(memory.usedBytes).toBe(0);
  });
});
