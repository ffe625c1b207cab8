import { readFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { SeededRandom } from '@gimbal/core';
import { type Answer, answersRightly, Connection, type ConnectionEvents } from './connection.ts';
import type { LoadCase, LoadMode, LoadPlan, LoadResult } from './plan.ts';
import { Recorder } from './recorder.ts';

const DEFAULT_DEADLINE_MS = 60_000;
/** Arrivals that the generator comes to later than this are left out, and counted. */
const MAX_LATENESS_MS = 50;
/** After the window's end, answers on the way are waited for this long (open loop). */
const TAIL_MS = 2_000;
/** A closed-loop connection that was refused comes back after this long, so that a dead server is not hammered. */
const RECONNECT_MS = 50;

interface PreparedCase {
  readonly request: readonly Buffer[];
  readonly check: LoadCase['check'];
}

/** Runs a plan to its end. Latency counts from the intended start, so a stalled server can't hide (no coordinated omission). */
export function generate(plan: LoadPlan): Promise<LoadResult> {
  return new Promise((resolve) => new LoadGenerator(plan, resolve).start());
}

/** One attempt of a request. */
interface Start {
  readonly intendedMs: number;
  readonly attempt: number;
}

class LoadGenerator implements ConnectionEvents {
  readonly #plan: LoadPlan;
  readonly #cases: readonly PreparedCase[];
  readonly #deadlineMs: number;
  readonly #resolve: (result: LoadResult) => void;
  readonly #busy = new Set<Connection>();
  readonly #idle: Connection[] = [];
  /** Intended starts that wait for a connection (open loop), oldest first. */
  #waiting: Start[] = [];
  #connections = 0;
  #turn = 0;
  #endMs = 0;
  #recorder: Recorder;
  #finished = false;

  constructor(plan: LoadPlan, resolve: (result: LoadResult) => void) {
    this.#plan = plan;
    this.#resolve = resolve;
    this.#deadlineMs = plan.deadlineMs ?? DEFAULT_DEADLINE_MS;
    this.#cases = plan.cases.map((one) => prepare(one, plan));
    this.#recorder = new Recorder({ startMs: 0, endMs: 0 });
  }

  start(): void {
    const { mode } = this.#plan;
    const now = performance.now();
    const startMs = mode.kind === 'closed' ? now + mode.warmupSeconds * 1000 : now;
    this.#endMs = startMs + windowSeconds(mode) * 1000;
    this.#recorder = new Recorder({ startMs, endMs: this.#endMs });
    if (mode.kind === 'closed') for (let index = 0; index < mode.connections; index += 1) this.#connect();
    else this.#schedule(mode, startMs);
    const sweep = setInterval(() => {
      this.#expire(performance.now());
      const over = performance.now() > this.#endMs + (mode.kind === 'open' ? TAIL_MS : 0);
      if (!over && !(mode.kind === 'open' && performance.now() > this.#endMs && this.#busy.size === 0))
        return;
      clearInterval(sweep);
      this.#finish();
    }, 10);
  }

  onReady(connection: Connection): void {
    if (this.#plan.mode.kind === 'closed')
      this.#send(connection, { intendedMs: performance.now(), attempt: 0 });
    else this.#becameIdle(connection);
  }

  onAnswer(connection: Connection, answer: Answer): void {
    const now = performance.now();
    this.#busy.delete(connection);
    const at = this.#plan.mode.kind === 'closed' ? now : connection.intendedMs;
    const check = this.#cases[connection.caseIndex]?.check ?? { kind: 'none' };
    if (answer.status !== 200) {
      this.#recorder.refused(at, answer.status);
      this.#askAgain(connection, now);
    } else if (!answersRightly(answer.body, check)) this.#recorder.failed(at, 'wrong-answer');
    else this.#recorder.good(at, connection.intendedMs, now - connection.intendedMs);
    if (this.#finished) return;
    if (this.#plan.mode.kind === 'closed') this.#send(connection, { intendedMs: now, attempt: 0 });
    else this.#becameIdle(connection);
  }

  onGone(connection: Connection, reason: 'connect' | 'reset'): void {
    this.#connections -= 1;
    const idleAt = this.#idle.indexOf(connection);
    if (idleAt >= 0) this.#idle.splice(idleAt, 1);
    if (this.#busy.delete(connection)) {
      this.#recorder.failed(this.#failureInstant(connection), reason);
      this.#askAgain(connection, performance.now());
    } else if (reason === 'connect') this.#refusedConnection();
    if (!this.#finished && this.#plan.mode.kind === 'closed') setTimeout(() => this.#connect(), RECONNECT_MS);
  }

  /** A connection that could not be opened fails the request that it was opened for. */
  #refusedConnection(): void {
    if (this.#plan.mode.kind === 'closed') this.#recorder.failed(performance.now(), 'connect');
    else {
      const start = this.#waiting.shift();
      if (start) this.#recorder.failed(start.intendedMs, 'connect');
    }
  }

  #failureInstant(connection: Connection): number {
    return this.#plan.mode.kind === 'closed' ? performance.now() : connection.intendedMs;
  }

  #becameIdle(connection: Connection): void {
    const start = this.#waiting.shift();
    if (start) this.#send(connection, start);
    else this.#idle.push(connection);
  }

  #connect(): void {
    if (this.#finished) return;
    this.#connections += 1;
    new Connection(this.#plan, this);
  }

  #send(connection: Connection, { intendedMs, attempt }: Start): void {
    if (this.#finished) return;
    connection.attempt = attempt;
    connection.caseIndex = this.#turn % this.#cases.length;
    connection.intendedMs = intendedMs;
    this.#turn += 1;
    this.#busy.add(connection);
    this.#recorder.started(intendedMs, performance.now());
    connection.send((this.#cases[connection.caseIndex] as PreparedCase).request);
  }

  /** Open loop: the arrival times are fixed beforehand; the loop spins because timers are too coarse for high rates. */
  #schedule(mode: Extract<LoadMode, { kind: 'open' }>, startMs: number): void {
    const arrivals = arrivalTimes(mode, startMs);
    let next = arrivals.next();
    const tick = (): void => {
      const now = performance.now();
      while (!next.done && next.value <= now) {
        // A generator that can't keep up offers less; what it would send late would measure itself.
        if (now - next.value > MAX_LATENESS_MS) this.#recorder.unsent(next.value);
        else this.#arrive({ intendedMs: next.value, attempt: 0 });
        next = arrivals.next();
      }
      if (next.done) return;
      if (next.value - now > 2) setTimeout(tick, next.value - now - 1);
      else setImmediate(tick);
    };
    tick();
  }

  #arrive(start: Start): void {
    const { mode } = this.#plan;
    if (mode.kind === 'closed') return;
    const connection = this.#idle.pop();
    if (connection) {
      this.#send(connection, start);
      return;
    }
    if (this.#connections >= mode.maxConnections) {
      // One that waited here for a connection would measure this program's queue.
      this.#recorder.unsent(start.intendedMs);
      return;
    }
    this.#waiting.push(start);
    this.#connect();
  }

  /** As a client without a budget: at once, with its whole patience again. */
  #askAgain({ attempt }: Connection, now: number): void {
    const { mode } = this.#plan;
    if (mode.kind !== 'open' || this.#finished || attempt >= (mode.retries ?? 0) || now >= this.#endMs)
      return;
    this.#arrive({ intendedMs: now, attempt: attempt + 1 });
  }

  #expire(now: number): void {
    for (const connection of this.#busy) {
      if (now - connection.intendedMs < this.#deadlineMs) break;
      this.#busy.delete(connection);
      this.#recorder.failed(this.#failureInstant(connection), 'timeout');
      this.#connections -= 1;
      connection.cut();
      this.#askAgain(connection, now);
      if (this.#plan.mode.kind === 'closed') this.#connect();
    }
    while ((this.#waiting[0]?.intendedMs ?? now) < now - this.#deadlineMs) {
      this.#recorder.failed((this.#waiting.shift() as Start).intendedMs, 'timeout');
    }
  }

  #finish(): void {
    this.#finished = true;
    if (this.#plan.mode.kind === 'open') {
      for (const connection of this.#busy) this.#recorder.failed(connection.intendedMs, 'timeout');
    }
    for (const connection of [...this.#busy, ...this.#idle]) connection.cut();
    this.#resolve(this.#recorder.result());
  }
}

function windowSeconds(mode: LoadMode): number {
  return mode.kind === 'closed' ? mode.seconds : mode.phases.reduce((sum, phase) => sum + phase.seconds, 0);
}

function* arrivalTimes(
  mode: Extract<LoadMode, { kind: 'open' }>,
  startMs: number,
): Generator<number, void, void> {
  const random = mode.poissonSeed === undefined ? undefined : new SeededRandom(mode.poissonSeed);
  let at = startMs;
  let phaseEnd = startMs;
  for (const phase of mode.phases) {
    at = phaseEnd;
    phaseEnd += phase.seconds * 1000;
    const gapMs = 1000 / phase.ratePerSecond;
    while (at < phaseEnd) {
      yield at;
      at += random ? -Math.log(1 - random.next()) * gapMs : gapMs;
    }
  }
}

function prepare(one: LoadCase, plan: LoadPlan): PreparedCase {
  const body = readFileSync(one.bodyFile);
  const lines = [
    `POST ${one.path} HTTP/1.1`,
    `Host: ${plan.host}:${plan.port}`,
    ...one.headers,
    `Content-Length: ${body.length}`,
  ];
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
  // A small request leaves in one write; a large body is not copied behind its head each time.
  const request = body.length < 16_384 ? [Buffer.concat([head, body])] : [head, body];
  return { request, check: one.check };
}
