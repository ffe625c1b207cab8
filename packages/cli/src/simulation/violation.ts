import type { Instant } from '@gimbal/core';

/** Each is checked wherever it can break, in every world. */
export const INVARIANTS = {
  'one-outcome': 'each request ends exactly once',
  'outcome-by-deadline': 'each request ends by its deadline, and one turn more',
  'answered-in-time': 'nothing is answered after its deadline',
  'own-rows': 'an answer is made of the rows of its own request, all of them, in order',
  'runner-serves': 'only a runner that takes work is given any',
  'runner-free': 'a runner has no more batches than it may have',
  'batch-whole': 'a batch has rows of one bucket, that wait to be run, and no more than its runner takes',
  'settled-not-run': 'nothing that has ended is run',
  'late-not-run': 'nothing is started after its deadline',
  'cancel-at-once': 'a request whose client has gone ends at once, and no other ends that way',
  'bytes-bounded': 'what open requests hold is within the bound, but for one request',
  'counters-match': 'the numbers that the engine tells are those that were seen',
  'slots-match': 'the engine and the runners agree on what runs',
  'lanes-in-order': 'nothing is started while something more critical waits for the same rung',
  'critical-first': 'nothing critical is refused where the same request in a lower lane would be taken',
  'modest-served': 'a tenant that asks for less than its share gets 95 % of it in time',
  'ladder-legal': 'the ladder goes from rung to rung in time, and seldom while the load is steady',
  'poison-bounded': 'an input that crashes runners costs at most two of them',
  'retry-budget': 'clients with a budget of retries stay within it',
  'nothing-left': 'when the last client has gone, nothing is open, held or running',
} as const;

export type InvariantName = keyof typeof INVARIANTS;

/** An invariant that a world has broken. */
export class Violation extends Error {
  override readonly name = 'Violation';
  readonly invariant: InvariantName;
  readonly seed: number;
  readonly at: Instant;

  constructor(
    invariant: InvariantName,
    detail: string,
    world: { scenario: string; seed: number; at: Instant },
  ) {
    const { scenario, seed, at } = world;
    super(
      `${invariant}: expected that ${INVARIANTS[invariant]}, got ${detail} (seed ${seed}, at ${at.toFixed(3)} ms); ` +
        `again with: ${replayCommand(scenario, seed)}`,
    );
    this.invariant = invariant;
    this.seed = seed;
    this.at = at;
  }
}

export function replayCommand(scenario: string, seed: number): string {
  return `npm run sim -- --scenario ${scenario} --seed ${seed}`;
}
