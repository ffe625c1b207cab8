import { assert } from '../../base/assert.ts';
import type { Instant } from '../../base/time.ts';

/**
 * A caller that waits for another's answer. Told exactly one of the two, exactly once, unless it has left before; never
 * from inside `follow`. Must not throw. It keeps its own deadline: when that passes, it leaves.
 */
export interface Follower<Value> {
  /** The answer has come. */
  onValue(value: Value): void;
  /** The leader has failed or gone: this caller now computes the answer itself, for all who still wait. */
  onLead(lead: Lead<Value>): void;
}

/** What a leader's answer is and whether it may be kept. */
export interface LeaderAnswer<Value> {
  /** Memory of its own: it outlives the leader's call. */
  readonly value: Value;
  readonly bytes: number;
  /** False: followers get it, but nobody later (an answer of a lower rung must not outlive the outage). */
  readonly keep: boolean;
}

/** What a flight tells the cache that it belongs to. */
export interface FlightEvents<Value> {
  /** The flight is over with an answer; followers are told afterwards. */
  onAnswer(flight: Flight<Value>, answer: LeaderAnswer<Value>, now: Instant): void;
  /** The flight is over with none: nobody is left to lead it. */
  onAbandoned(flight: Flight<Value>): void;
  /** A follower becomes the leader. */
  onHandedOn(): void;
}

/** One computation of a key's answer: its leader computes, its followers wait. */
export class Flight<Value> {
  readonly key: string;
  /** Set when the key was cleared while it flew: its answer still serves its followers, but is not kept. */
  cleared = false;
  readonly #events: FlightEvents<Value>;
  readonly #maxFollowers: number;
  /** In the order of their coming. */
  readonly #followers = new Set<Follower<Value>>();
  #lead: Lead<Value> | undefined = undefined;
  #handingOn = false;
  #over = false;

  constructor(key: string, maxFollowers: number, events: FlightEvents<Value>) {
    this.key = key;
    this.#maxFollowers = maxFollowers;
    this.#events = events;
  }

  get followers(): number {
    return this.#followers.size;
  }

  /** Between two leaders: whoever asks now, from inside a callback, leads. */
  get vacant(): boolean {
    return !this.#lead;
  }

  get full(): boolean {
    return this.#followers.size >= this.#maxFollowers;
  }

  /** Waits for the answer. Call it in the same turn in which `lookup` gave the flight. */
  follow(follower: Follower<Value>): void {
    assert(this.#lead, 'only a flight that has a leader is followed');
    assert(!this.full, 'a flight with room is joined');
    this.#followers.add(follower);
  }

  /** Waits no longer; false when it was told its end already. */
  leave(follower: Follower<Value>): boolean {
    return this.#followers.delete(follower);
  }

  /** Makes the caller the leader of a flight that has none. */
  takeLead(): Lead<Value> {
    assert(!this.#lead && !this.#over, 'a flight has one leader at a time');
    this.#lead = new Lead(this);
    return this.#lead;
  }

  /** The leader's answer: kept first, so that whoever asks again from inside a callback finds it. */
  answered(answer: LeaderAnswer<Value>, now: Instant): void {
    this.#lead = undefined;
    this.#over = true;
    this.#events.onAnswer(this, answer, now);
    for (const follower of this.#followers) {
      this.#followers.delete(follower);
      follower.onValue(answer.value);
    }
  }

  /**
   * Hands leadership to the next follower. One that gives up at once, from inside its callback, must not deepen the
   * stack: the loop of the first call goes on.
   */
  abandoned(): void {
    this.#lead = undefined;
    if (this.#handingOn) return;
    this.#handingOn = true;
    while (!this.#lead && !this.#over) this.#handOn();
    this.#handingOn = false;
  }

  #handOn(): void {
    const [next] = this.#followers;
    if (!next) {
      this.#over = true;
      this.#events.onAbandoned(this);
      return;
    }
    this.#followers.delete(next);
    this.#events.onHandedOn();
    next.onLead(this.takeLead());
  }
}

/** The right and duty to compute the answer of a flight. Ends once: with an answer, or by being abandoned. */
export class Lead<Value> {
  readonly #flight: Flight<Value>;
  #leading = true;

  constructor(flight: Flight<Value>) {
    this.#flight = flight;
  }

  get key(): string {
    return this.#flight.key;
  }

  /** The answer: kept when it may be, and given to all followers before this returns. False when leadership had ended. */
  succeed(answer: LeaderAnswer<Value>, now: Instant): boolean {
    if (!this.#leading) return false;
    this.#leading = false;
    this.#flight.answered(answer, now);
    return true;
  }

  /** Failed, refused or cancelled: the next follower leads. Nothing happens after an end, so every way out may call it. */
  abandon(): void {
    if (!this.#leading) return;
    this.#leading = false;
    this.#flight.abandoned();
  }
}
