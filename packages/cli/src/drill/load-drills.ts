import { connect, type Socket } from 'node:net';
import { isAnswered, latencyMs } from './answer.ts';
import { type Check, check, type Drill } from './drill.ts';
import { allAnswered } from './runner-drills.ts';
import type { Stage } from './stage.ts';
import { answeredPerSecond } from './timeline.ts';

/** Shares of the drill's time: the overload begins, ends. */
const OVERLOAD_UNTIL = 0.6;
const OVERLOAD_DEADLINE_MS = 500;
/** What a change takes until its effect is measured. */
const SETTLE_MS = 1_000;
const RECOVERY_LIMIT_MS = 3_000;

export const overload: Drill = {
  name: 'overload-10x',
  summary: 'ten times the requests that came before',
  criterion:
    'At least 90 % as many answers a second as before, within the deadline; what is over is refused at once with 503 and nothing fails. Within 3 s after the overload every request is answered again.',
  ratePerSecond: 50,
  durationMs: 14_000,
  timeoutMs: OVERLOAD_DEADLINE_MS,
  // Two runners, two rows in 50 ms each: 80 a second.
  server: { maxRows: 2 },
  async run(stage) {
    const { durationMs, load, ratePerSecond, server } = stage.options;
    if (server) await stage.inject({ kind: 'slow', add_ms: 48, duration_ms: 120_000 }, 'runs take 50 ms');
    // The cost of runs has changed: it is learned before the load comes.
    await stage.waitUntil(durationMs * 0.2);
    const before = answeredPerSecond(
      stage.answers,
      stage.brokenAt + SETTLE_MS,
      stage.brokenAt + stage.elapsedMs,
    );
    load.ratePerSecond = ratePerSecond * 10;
    stage.mark('ten times the load');
    const from = stage.elapsedMs;
    await stage.waitUntil(durationMs * OVERLOAD_UNTIL);
    const until = stage.elapsedMs;
    load.ratePerSecond = ratePerSecond;
    stage.healed('the usual load');
    await stage.playOut();
    const during = stage.answersSince(from, until - from);
    const good = answeredPerSecond(stage.answers, stage.brokenAt + from + SETTLE_MS, stage.brokenAt + until);
    return [
      goodput(good, before),
      inTime(stage, from, until),
      onlyShed(during),
      recovered(stage, until + RECOVERY_LIMIT_MS),
    ];
  },
};

export const slowDevice: Drill = {
  name: 'slow-device',
  summary: 'runs that take 150 ms more',
  criterion:
    'Every request is answered within its deadline while runs are slow. Within 3 s after that latency is what it was.',
  ratePerSecond: 40,
  durationMs: 12_000,
  timeoutMs: 5_000,
  server: {},
  async run(stage) {
    const { durationMs } = stage.options;
    const before = latencyMs(
      stage.answers.filter(({ endedAt }) => endedAt < stage.brokenAt),
      0.5,
    );
    const fault = await stage.inject(
      { kind: 'slow', add_ms: 150, duration_ms: durationMs },
      'the device is slow',
    );
    await stage.waitUntil(durationMs * OVERLOAD_UNTIL);
    await stage.clear(fault, 'the device is well');
    const healedAt = stage.elapsedMs;
    await stage.playOut();
    const after = latencyMs(stage.answersSince(healedAt + RECOVERY_LIMIT_MS), 0.5);
    // Tens of milliseconds are the noise of a laptop.
    const limitMs = Math.max(3 * before, before + 30);
    return [
      allAnswered(stage),
      check(
        'latency is what it was',
        after <= limitMs,
        `median ${before.toFixed(1)} ms before, ${after.toFixed(1)} ms after`,
      ),
    ];
  },
};

/** Connections that send a head letter by letter, and a body of which nothing comes. */
const SLOW_CONNECTIONS = 200;
const HUGE_BODIES = 20;
const HUGE_BODY_BYTES = 100 * 1024 * 1024 * 1024;
const LETTER_EVERY_MS = 500;
const MAX_GROWTH_BYTES = 200 * 1024 * 1024;

export const clientFlood: Drill = {
  name: 'client-flood',
  summary: '200 clients that send a head letter by letter, and bodies of 100 GB',
  criterion:
    'Every other request is answered with 200. Huge bodies are refused by their heads with 413, and the host grows by less than 200 MB.',
  ratePerSecond: 50,
  durationMs: 10_000,
  timeoutMs: 5_000,
  server: {},
  async run(stage) {
    const { server, sender } = stage.options;
    const before = server?.residentBytes();
    const flood = new Flood(sender.url, stage.options.request.usual.path);
    flood.slow(SLOW_CONNECTIONS);
    stage.mark(`${SLOW_CONNECTIONS} slow clients`);
    await stage.waitUntil(stage.options.durationMs * 0.3);
    const statuses = flood.huge(HUGE_BODIES);
    stage.mark(`${HUGE_BODIES} huge bodies`);
    await stage.playOut();
    flood.close();
    const answered = await Promise.all(statuses);
    const after = server?.residentBytes();
    const refused = answered.filter((status) => status === 413).length;
    const grown = before !== undefined && after !== undefined ? after - before : undefined;
    return [
      allAnswered(stage),
      check('huge bodies are refused with 413', refused === HUGE_BODIES, `${refused} of ${HUGE_BODIES}`),
      ...(grown === undefined
        ? []
        : [check('the host stays small', grown < MAX_GROWTH_BYTES, `${Math.round(grown / 1e6)} MB more`)]),
    ];
  },
};

/** Clients that mean no good. */
class Flood {
  readonly #url: URL;
  readonly #path: string;
  readonly #sockets = new Set<Socket>();
  readonly #timers = new Set<NodeJS.Timeout>();

  constructor(url: string, path: string) {
    this.#url = new URL(url);
    this.#path = path;
  }

  slow(count: number): void {
    const head = `POST ${this.#path} HTTP/1.1\r\nHost: drill\r\nX-Padding: ${'a'.repeat(4096)}`;
    for (let index = 0; index < count; index += 1) {
      const socket = this.#connect();
      let sent = 0;
      const timer = setInterval(() => {
        if (!socket.destroyed) socket.write(head[sent % head.length] ?? '');
        sent += 1;
      }, LETTER_EVERY_MS);
      this.#timers.add(timer);
    }
  }

  /** The status that each is answered with; 0 for none. */
  huge(count: number): readonly Promise<number>[] {
    const head = `POST ${this.#path} HTTP/1.1\r\nHost: drill\r\nContent-Type: application/json\r\nContent-Length: ${HUGE_BODY_BYTES}\r\n\r\n`;
    return Array.from({ length: count }, () => {
      const socket = this.#connect();
      socket.write(head);
      return new Promise<number>((resolve) => {
        socket.once('data', (chunk) =>
          resolve(Number(/^HTTP\/1\.1 (\d+)/.exec(chunk.toString('latin1'))?.[1] ?? 0)),
        );
        socket.once('close', () => resolve(0));
      });
    });
  }

  close(): void {
    for (const timer of this.#timers) clearInterval(timer);
    for (const socket of this.#sockets) socket.destroy();
  }

  #connect(): Socket {
    const socket = connect({ host: this.#url.hostname, port: Number(this.#url.port || 80) });
    socket.on('error', () => {});
    this.#sockets.add(socket);
    return socket;
  }
}

function goodput(good: number, before: number): Check {
  return check(
    'at least 90 % as many answers as before',
    good >= before * 0.9 && before > 0,
    `${before.toFixed(0)} a second before, ${good.toFixed(0)} in the overload`,
  );
}

function inTime(stage: Stage, from: number, until: number): Check {
  const answered = stage.answersSince(from, until - from).filter(isAnswered);
  const p99 = latencyMs(answered, 0.99);
  return check('answers come within the deadline', p99 <= OVERLOAD_DEADLINE_MS, `p99 ${Math.round(p99)} ms`);
}

/** One in a hundred may be late: a deadline is a prediction until the answer is there. */
function onlyShed(during: readonly { kind: string }[]): Check {
  const shed = during.filter(({ kind }) => kind === 'shed').length;
  const late = during.filter(({ kind }) => kind === 'timeout').length;
  const failed = during.filter(
    ({ kind }) => kind === 'failed' || kind === 'lost' || kind === 'refused',
  ).length;
  return check(
    'what is over is refused, and nothing fails',
    failed === 0 && late <= during.length * 0.01,
    `${shed} refused, ${late} late, ${failed} failed`,
  );
}

function recovered(stage: Stage, afterMs: number): Check {
  const answers = stage.answersSince(afterMs);
  const missing = answers.filter((answer) => !isAnswered(answer)).length;
  return check(
    'every request is answered again within 3 s',
    missing === 0 && answers.length > 0,
    `${answers.length - missing} of ${answers.length}`,
  );
}
