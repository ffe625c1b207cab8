import { isAnswered } from './answer.ts';
import { check, type Drill } from './drill.ts';
import { allAnswered, seconds } from './runner-drills.ts';
import { TARGET } from './sample-models.ts';
import type { Stage } from './stage.ts';

/** Requests that may fail until the loss is noticed. */
const NOTICE_LIMIT_MS = 2_000;
const LOG_LIMIT_MS = 5_000;
const LOAD_LIMIT_MS = 10_000;
const READY_POLL_LIMIT_MS = 30_000;

export const deviceLoss: Drill = {
  name: 'device-loss',
  summary: 'all runs of the best variant fail, as on a GPU that is gone',
  criterion:
    'From 2 s after the loss on every request is answered, by the next variant of the ladder. When the device is back, the best variant answers again before the drill ends.',
  ratePerSecond: 50,
  durationMs: 40_000,
  timeoutMs: 5_000,
  server: { isLadder: true },
  async run(stage) {
    const variant = (await stage.runners())[0]?.variant;
    const fault = await stage.inject(
      { kind: 'device-loss', variant, duration_ms: 120_000 },
      'the device is lost',
    );
    await stage.waitUntil(stage.options.durationMs * 0.3);
    const during = stage.answersSince(NOTICE_LIMIT_MS, stage.elapsedMs - NOTICE_LIMIT_MS);
    const missing = during.filter((answer) => !isAnswered(answer)).length;
    await stage.clear(fault, 'the device is back');
    const healedAt = stage.elapsedMs;
    await stage.playOut();
    const after = stage.answersSince(healedAt);
    const failedAfter = after.filter((answer) => !isAnswered(answer)).length;
    const isBest = after.at(-1)?.kind === 'good';
    return [
      check(
        'the next variant answers from 2 s on',
        missing === 0 && during.some(({ kind }) => kind === 'degraded'),
        `${during.length - missing} of ${during.length}`,
      ),
      check('nothing fails when it comes back', failedAfter === 0, `${failedAfter} failed`),
      check(
        'the best variant answers in the end',
        isBest,
        isBest ? 'it does' : `the last is ${after.at(-1)?.kind}`,
      ),
    ];
  },
};

export const diskFull: Drill = {
  name: 'disk-full',
  summary: 'writes of the host fail with ENOSPC; the host writes its log and nothing else',
  criterion:
    'Every request is answered with 200 while no log line can be written. Lines are written again within 5 s after there is room.',
  ratePerSecond: 50,
  durationMs: 12_000,
  timeoutMs: 5_000,
  server: {},
  async run(stage) {
    const fault = await stage.inject(
      { kind: 'disk-full', model: undefined, duration_ms: 120_000 },
      'the disk is full',
    );
    await stage.waitUntil(stage.options.durationMs * 0.4);
    const { server } = stage.options;
    const linesWhenFull = server?.logLines ?? 0;
    await stage.waitUntil(stage.options.durationMs * 0.5);
    const writtenWhenFull = (server?.logLines ?? 0) - linesWhenFull;
    await stage.clear(fault, 'the disk has room');
    const linesBefore = server?.logLines ?? 0;
    const backMs = await stage.until(() => (server?.logLines ?? 0) > linesBefore, server ? LOG_LIMIT_MS : 0);
    await stage.playOut();
    const checks = [allAnswered(stage)];
    if (server) {
      checks.push(
        check('the disk was really full', writtenWhenFull === 0, `${writtenWhenFull} lines were written`),
        check('log lines are written again', backMs !== undefined, seconds(backMs)),
      );
    }
    return checks;
  },
};

export const modelCorrupt: Drill = {
  name: 'model-corrupt',
  summary: 'a new version whose file is broken, then mended',
  criterion:
    'Every request is answered with 200 by the version that works. The broken version is shown with the reason, and serves when its file is mended.',
  ownServerBecause: 'it writes into the folder of models',
  ratePerSecond: 50,
  durationMs: 14_000,
  timeoutMs: 5_000,
  server: {},
  async run(stage) {
    const { models } = stage.options;
    if (!models) return [];
    models.addVersion(TARGET, '2', { model: Buffer.from('this is no model') });
    stage.mark('a broken version appears');
    const shownMs = await stage.until(
      async () => (await versionsOf(stage)).failed.includes('2'),
      LOAD_LIMIT_MS,
    );
    await stage.waitUntil(stage.options.durationMs * 0.4);
    models.addVersion(TARGET, '2');
    stage.mark('it is mended');
    const servedMs = await stage.until(
      async () => (await versionsOf(stage)).ready.includes('2'),
      LOAD_LIMIT_MS,
    );
    if (servedMs !== undefined) stage.mark('it serves');
    await stage.playOut();
    return [
      allAnswered(stage),
      check('the broken version is shown with the reason', shownMs !== undefined, seconds(shownMs)),
      check('the mended version serves', servedMs !== undefined, seconds(servedMs)),
    ];
  },
};

export const restartUnderLoad: Drill = {
  name: 'restart-under-load',
  summary: 'SIGTERM of one of two servers behind a balancer that follows readiness',
  criterion:
    'No request is lost: the server answers until the balancer has seen that it is not ready. It ends with exit code 0.',
  ownServerBecause: 'it stops the server',
  ratePerSecond: 50,
  durationMs: 10_000,
  timeoutMs: 5_000,
  server: { lameDuckMs: 3_000 },
  async run(stage) {
    const { server, sender } = stage.options;
    if (!server) return [];
    const replica = await stage.options.startReplica();
    stage.mark('a second server is ready');
    const stopped = server.stop();
    stage.mark('SIGTERM');
    // The balancer: it looks every so often, as Kubernetes' does, and sends elsewhere when the answer is no.
    const seenMs = await stage.until(async () => !(await isReady(server.url)), READY_POLL_LIMIT_MS);
    sender.aim(replica.url);
    stage.mark('the balancer moves');
    const code = await stopped;
    stage.mark('the first server is gone');
    await stage.playOut();
    return [
      allAnswered(stage),
      check('readiness fails at once', seenMs !== undefined && seenMs < 1_000, seconds(seenMs)),
      check('the server ends with exit code 0', code === 0, `exit code ${code}`),
    ];
  },
};

async function isReady(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/readyz`)).ok;
  } catch {
    return false;
  }
}

interface VersionsDocument {
  readonly versions?: readonly { readonly version: string; readonly state: string }[];
  readonly failures?: readonly { readonly version: string }[];
}

async function versionsOf(stage: Stage): Promise<{ ready: string[]; failed: string[] }> {
  const path = `/admin/v1/models/${encodeURIComponent(stage.options.model)}`;
  const { body } = await stage.options.admin.request({ method: 'GET', path });
  const { versions = [], failures = [] } = (body ?? {}) as VersionsDocument;
  const inState = (wanted: string) =>
    versions.filter(({ state }) => state === wanted).map(({ version }) => version);
  return {
    ready: inState('ready'),
    failed: [...failures.map(({ version }) => version), ...inState('unavailable')],
  };
}
