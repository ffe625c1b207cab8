import { mkdirSync, writeFileSync } from 'node:fs';
import type { Job } from './jobs.ts';
import { runLoad, type ServerUnderTest } from './measure.ts';
import { machine } from './report.ts';

const SECONDS = 60;
const KILL_EVERY_MS = 2_000;
const LOAD_RATIO = 0.5;
/** The model's usual deadline is too short for what is measured here: whether anything is lost at all. */
const DEADLINE_MS = 5_000;

export interface KillsResult {
  readonly job: Job['name'];
  readonly ratePerSecond: number;
  readonly kills: number;
  readonly asked: number;
  readonly good: number;
  readonly statuses: Readonly<Record<string, number>>;
  readonly failures: Readonly<Record<string, number>>;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

interface RunnerRow {
  readonly model: string;
  readonly pid: number | null;
  readonly state: string;
}

/** A runner of the model is killed with SIGKILL every two seconds for a minute, under half of the capacity. */
export async function measureKills({
  job,
  server,
  scratch,
}: {
  job: Job;
  server: ServerUnderTest;
  scratch: string;
}): Promise<KillsResult> {
  const model = /models\/([^/]+)\//.exec(job.cases[0]?.path ?? '')?.[1] ?? '';
  const closed = { kind: 'closed', connections: 16, warmupSeconds: 4, seconds: 4 } as const;
  const capacity = (await runLoad(server, job, { mode: closed, deadlineMs: undefined, scratch })).load
    .goodPerSecond;
  const ratePerSecond = capacity * LOAD_RATIO;
  const cases = job.cases.map((one) => ({
    ...one,
    headers: [...one.headers, `Inference-Timeout-Ms: ${DEADLINE_MS}`],
  }));
  let kills = 0;
  const killer = setInterval(() => {
    void killOne(server.adminUrl, model, kills).then((killed) => {
      if (killed) kills += 1;
    });
  }, KILL_EVERY_MS);
  const { load } = await runLoad(
    server,
    { ...job, cases },
    {
      mode: {
        kind: 'open',
        phases: [{ ratePerSecond, seconds: SECONDS }],
        maxConnections: 2_048,
        poissonSeed: 7,
      },
      deadlineMs: DEADLINE_MS,
      scratch,
    },
  );
  clearInterval(killer);
  return {
    job: job.name,
    ratePerSecond,
    kills,
    asked: load.started,
    good: load.good,
    statuses: load.statuses,
    failures: load.failures,
    p50Ms: load.latencyMs.p50,
    p99Ms: load.latencyMs.p99,
    maxMs: load.latencyMs.max,
  };
}

/** In turn, so that both runners are met. */
async function killOne(adminUrl: string, model: string, turn: number): Promise<boolean> {
  const { runners } = (await (await fetch(new URL('/admin/v1/runners', adminUrl))).json()) as {
    runners: readonly RunnerRow[];
  };
  const alive = runners.filter(
    (runner) => runner.model === model && (runner.state === 'ready' || runner.state === 'busy'),
  );
  const victim = alive[turn % Math.max(1, alive.length)];
  if (!victim?.pid) return false;
  process.kill(victim.pid, 'SIGKILL');
  return true;
}

export function reportKills(results: readonly KillsResult[], save: string | undefined): void {
  const facts = Object.entries(machine())
    .map(([key, value]) => `${key} ${value}`)
    .join(' · ');
  const text = [
    '# kill -9 of a runner every 2 s for a minute',
    '',
    facts,
    '',
    '| job | load/s | kills | asked | answered rightly | not | p50 / p99 / worst ms |',
    '|---|---|---|---|---|---|---|',
    ...results.map(
      (one) =>
        `| ${one.job} | ${one.ratePerSecond.toFixed(0)} | ${one.kills} | ${one.asked} | ${one.good} | ${JSON.stringify(one.statuses)} ${JSON.stringify(one.failures)} | ${one.p50Ms.toFixed(1)} / ${one.p99Ms.toFixed(0)} / ${one.maxMs.toFixed(0)} |`,
    ),
    '',
    `Two runners, half of the capacity of two on one core, deadline ${DEADLINE_MS} ms. Server tree on one core, generator on another.`,
    '',
  ].join('\n');
  process.stdout.write(text);
  if (save === undefined) return;
  mkdirSync('bench/history', { recursive: true });
  writeFileSync(
    `bench/history/${save}.json`,
    `${JSON.stringify({ machine: machine(), results }, null, 1)}\n`,
  );
  writeFileSync(`bench/history/${save}.md`, text);
}
