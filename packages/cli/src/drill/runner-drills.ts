import { isAnswered, latencyMs, recoveryMs } from './answer.ts';
import { type Check, check, type Drill } from './drill.ts';
import type { Stage } from './stage.ts';

/** Runs that are a little slow, so that a fault finds a batch inside. */
const DRAG = { kind: 'slow', add_ms: 20, duration_ms: 120_000 } as const;
const BACK_LIMIT_MS = 10_000;

export const runnerKill: Drill = {
  name: 'runner-kill',
  summary: 'kill -9 of a runner in the middle of its batch, twice',
  criterion:
    'Every request is answered with 200: what was inside is run again by another runner. All runners are back within 10 s.',
  ratePerSecond: 50,
  durationMs: 10_000,
  timeoutMs: 5_000,
  server: {},
  async run(stage) {
    await stage.inject(DRAG, 'runs take 20 ms more');
    const backMs: (number | undefined)[] = [];
    for (const share of [0.1, 0.5]) {
      await stage.waitUntil(stage.options.durationMs * share);
      const before = await countsOf(stage);
      await stage.inject({ kind: 'kill', runners: 1 }, 'a runner is killed');
      backMs.push(await stage.until(() => hasRestarted(stage, before), BACK_LIMIT_MS));
      stage.mark('all runners are back');
    }
    await stage.playOut();
    return [allAnswered(stage), runnersBack(backMs)];
  },
};

export const runnerHang: Drill = {
  name: 'runner-hang',
  summary: 'a run that never returns',
  criterion:
    'Every request is answered with 200: the hung runner is ended at its limit, and what was inside is run again. All runners are back within 10 s after that.',
  ratePerSecond: 50,
  durationMs: 14_000,
  timeoutMs: 10_000,
  server: {},
  async run(stage) {
    const before = await countsOf(stage);
    const fault = { kind: 'hang', runners: 1, batches: 1, duration_ms: 120_000 };
    await stage.inject(fault, 'a run hangs');
    const isEnded = async () => (await countsOf(stage)).restarts > before.restarts;
    const endedMs = await stage.until(isEnded, BACK_LIMIT_MS);
    stage.mark('the hung runner is ended');
    const backMs = await stage.until(() => hasRestarted(stage, before), BACK_LIMIT_MS);
    stage.mark('all runners are back');
    await stage.playOut();
    return [
      allAnswered(stage),
      check('the hung runner is ended', endedMs !== undefined, seconds(endedMs)),
      runnersBack([backMs]),
    ];
  },
};

/** Poison is sent so often. */
const POISON_TIMES = 5;

export const poison: Drill = {
  name: 'poison',
  summary: 'one input that crashes whatever runs it, sent again and again',
  criterion:
    'The poison is answered with POISON_INPUT each time, and costs two restarts in all. Every other request is answered with 200.',
  ratePerSecond: 50,
  durationMs: 12_000,
  timeoutMs: 10_000,
  server: {},
  async run(stage) {
    const bad = stage.options.request.poison;
    if (!bad)
      return [check('a poison can be made up for this model', false, 'its inputs are of another kind')];
    const before = await countsOf(stage);
    const crash = { kind: 'crash', input_prefix: bad.inputPrefix, duration_ms: 120_000 };
    await stage.inject(crash, 'an input crashes runners');
    for (let time = 0; time < POISON_TIMES; time += 1) {
      await stage.waitUntil((stage.options.durationMs * time) / (POISON_TIMES + 1));
      stage.mark('poison is sent');
      await stage.aside(bad.request);
    }
    await stage.playOut();
    const codes = stage.asides.map(({ code, status }) => code || String(status));
    const restarts = (await countsOf(stage)).restarts - before.restarts;
    return [
      allAnswered(stage),
      check(
        'the poison is answered with POISON_INPUT',
        codes.every((code) => code === 'POISON_INPUT'),
        codes.join(', '),
      ),
      check('the poison costs at most two restarts', restarts <= 2, `${restarts} restarts`),
    ];
  },
};

export const memoryLeak: Drill = {
  name: 'memory-leak',
  summary: 'a model that keeps half a megabyte of each batch',
  criterion:
    'Every request is answered with 200: the leak is seen, and a replacement is ready before the leaking runner leaves. No runner is lost.',
  ratePerSecond: 60,
  durationMs: 25_000,
  timeoutMs: 5_000,
  server: {},
  async run(stage) {
    const before = await stage.runners();
    const lostBefore = (await countsOf(stage)).restarts;
    const fault = { kind: 'leak', bytes_per_batch: 512 * 1024, duration_ms: 120_000 };
    await stage.inject(fault, 'batches leak memory');
    const pids = new Set(before.map(({ pid }) => pid));
    const recycledMs = await stage.until(
      async () => (await stage.runners()).some(({ pid, state }) => !pids.has(pid) && state === 'ready'),
      stage.options.durationMs - 1000,
    );
    if (recycledMs !== undefined) stage.mark('a leaking runner is replaced');
    await stage.playOut();
    const lost = (await countsOf(stage)).restarts - lostBefore;
    return [
      allAnswered(stage),
      check('a leaking runner is replaced', recycledMs !== undefined, seconds(recycledMs)),
      check('no runner is lost', lost === 0, `${lost} lost`),
    ];
  },
};

/** Every request of the load, from the fault to the end. */
export function allAnswered(stage: Stage): Check {
  const answers = stage.answersSince();
  const missing = answers.filter((answer) => !isAnswered(answer)).length;
  const noticed = Math.round(recoveryMs(answers, stage.brokenAt));
  const got = `${answers.length - missing} of ${answers.length}, p99 ${Math.round(latencyMs(answers, 0.99))} ms`;
  return check(
    'every request is answered',
    missing === 0 && answers.length > 0,
    missing === 0 ? got : `${got}, the last refused ${noticed} ms after the fault`,
  );
}

export function seconds(ms: number | undefined): string {
  return ms === undefined ? 'not in the time of the drill' : `after ${(ms / 1000).toFixed(1)} s`;
}

function runnersBack(times: readonly (number | undefined)[]): Check {
  const isBack = times.every((ms) => ms !== undefined);
  return check('all runners are back', isBack, times.map(seconds).join(', '));
}

interface RunnerCounts {
  readonly working: number;
  readonly restarts: number;
}

async function countsOf(stage: Stage): Promise<RunnerCounts> {
  const runners = await stage.runners();
  return {
    working: runners.filter(({ state }) => state === 'ready' || state === 'busy').length,
    restarts: runners.reduce((sum, { restarts }) => sum + restarts, 0),
  };
}

/** One was lost since, and as many work as before. */
async function hasRestarted(stage: Stage, before: RunnerCounts): Promise<boolean> {
  const now = await countsOf(stage);
  return now.restarts > before.restarts && now.working >= before.working;
}
