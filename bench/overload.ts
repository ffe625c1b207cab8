import { mkdirSync, writeFileSync } from 'node:fs';
import type { Job } from './jobs.ts';
import type { LoadResult } from './loadgen/plan.ts';
import { runLoad, type ServerUnderTest } from './measure.ts';
import { machine } from './report.ts';

const DEADLINE_MS = 500;
const BEFORE_SECONDS = 3;
const OVERLOAD_SECONDS = 8;
const AFTER_SECONDS = 8;
/** Of the capacity, after the overload. */
const AFTER_RATIO = 0.7;
const GOOD_AGAIN_RATIO = 0.95;
/** A client of small requests has fewer connections than requests a second: the generator could not open so many. */
const MAX_CONNECTIONS: Readonly<Record<Job['name'], number>> = {
  digits: 2_048,
  'image-tensor': 8_192,
  jpeg: 8_192,
  text: 4_096,
};
const CAPACITY_SECONDS = 5;
const CAPACITY_CONNECTIONS = 16;

/** How the clients of a run behave. */
export type ClientKind =
  /** They send their deadline in a header. */
  | 'deadline in header'
  /** They keep it to themselves, and leave. */
  | 'deadline kept'
  /** They keep it, and ask again at once up to three times, without a budget. */
  | '3 retries, no budget';

/** By their names on the command line. */
const CLIENTS: Readonly<Record<string, ClientKind>> = {
  header: 'deadline in header',
  kept: 'deadline kept',
  retries: '3 retries, no budget',
};

export interface OverloadRow {
  readonly job: Job['name'];
  readonly clients: ClientKind;
  readonly factor: number;
  readonly capacityPerSecond: number;
  readonly offeredPerSecond: number;
  readonly goodPerSecond: number;
  /** Good answers during the overload, as a share of the capacity. */
  readonly goodputRatio: number;
  readonly p99Ms: number;
  /** From the end of the overload to the first second in which 95 % are good; undefined: never. */
  readonly recoverySeconds: number | undefined;
  readonly statuses: LoadResult['statuses'];
  readonly failures: LoadResult['failures'];
  /** A second, that the generator could not send. */
  readonly unsentPerSecond: number;
  /** How late the generator was at worst. */
  readonly maxLagMs: number;
}

interface OverloadRun {
  readonly jobs: readonly Job[];
  readonly server: ServerUnderTest;
  readonly scratch: string;
  readonly save: string | undefined;
  /** `header`, `kept`, `retries`. */
  readonly clients: readonly string[];
  /** Multiples of the capacity. */
  readonly factors: readonly number[];
}

/** Goodput far above the capacity, on real processes, with clients that wait half a second. */
export async function reportOverload(run: OverloadRun): Promise<number> {
  const rows: OverloadRow[] = [];
  for (const job of run.jobs) {
    const capacity = await capacityOf(job, run);
    say(`${job.name.padEnd(12)} capacity ${capacity.toFixed(1)} answers/s`);
    for (const name of run.clients) {
      const clients = CLIENTS[name];
      if (!clients)
        throw new Error(`Cannot load with clients "${name}": expected ${Object.keys(CLIENTS).join(', ')}`);
      for (const factor of run.factors) rows.push(await overload(job, { clients, factor, capacity }, run));
    }
  }
  const text = page(rows);
  process.stdout.write(text);
  if (run.save !== undefined) {
    mkdirSync('bench/history', { recursive: true });
    writeFileSync(
      `bench/history/${run.save}.json`,
      `${JSON.stringify({ machine: machine(), rows }, null, 1)}\n`,
    );
    writeFileSync(`bench/history/${run.save}.md`, text);
  }
  return 0;
}

/** What the server answers a second when it always has enough to do. */
async function capacityOf(job: Job, { server, scratch }: OverloadRun): Promise<number> {
  const mode = {
    kind: 'closed',
    connections: CAPACITY_CONNECTIONS,
    warmupSeconds: CAPACITY_SECONDS,
    seconds: CAPACITY_SECONDS,
  } as const;
  const { load } = await runLoad(server, job, { mode, deadlineMs: undefined, scratch });
  return load.goodPerSecond;
}

async function overload(
  job: Job,
  { clients, factor, capacity }: { clients: ClientKind; factor: number; capacity: number },
  { server, scratch }: OverloadRun,
): Promise<OverloadRow> {
  const told = clients === 'deadline in header';
  const cases = told
    ? job.cases.map((one) => ({ ...one, headers: [...one.headers, `Inference-Timeout-Ms: ${DEADLINE_MS}`] }))
    : job.cases;
  const { load } = await runLoad(
    server,
    { ...job, cases },
    {
      mode: {
        kind: 'open',
        phases: [
          { ratePerSecond: capacity / 2, seconds: BEFORE_SECONDS },
          { ratePerSecond: capacity * factor, seconds: OVERLOAD_SECONDS },
          { ratePerSecond: capacity * AFTER_RATIO, seconds: AFTER_SECONDS },
        ],
        maxConnections: MAX_CONNECTIONS[job.name],
        poissonSeed: 7,
        retries: clients === '3 retries, no budget' ? 3 : 0,
      },
      deadlineMs: DEADLINE_MS,
      scratch,
    },
  );
  const goodPerSecond = inOverload(load.goodBySecond) / OVERLOAD_SECONDS;
  const row: OverloadRow = {
    job: job.name,
    clients,
    factor,
    capacityPerSecond: capacity,
    offeredPerSecond: inOverload(load.offeredBySecond) / OVERLOAD_SECONDS,
    goodPerSecond,
    goodputRatio: goodPerSecond / capacity,
    p99Ms: load.latencyMs.p99,
    recoverySeconds: recovery(load),
    statuses: load.statuses,
    failures: load.failures,
    unsentPerSecond: load.unsent / load.seconds,
    maxLagMs: load.maxLagMs,
  };
  say(line(row));
  return row;
}

function inOverload(bySecond: readonly number[]): number {
  return bySecond
    .slice(BEFORE_SECONDS, BEFORE_SECONDS + OVERLOAD_SECONDS)
    .reduce((sum, count) => sum + (count ?? 0), 0);
}

function recovery({ goodBySecond, offeredBySecond }: LoadResult): number | undefined {
  const calm = BEFORE_SECONDS + OVERLOAD_SECONDS;
  for (let second = 0; second < AFTER_SECONDS; second += 1) {
    const offered = offeredBySecond[calm + second] ?? 0;
    if (offered > 0 && (goodBySecond[calm + second] ?? 0) / offered >= GOOD_AGAIN_RATIO) return second;
  }
  return undefined;
}

function page(rows: readonly OverloadRow[]): string {
  const facts = Object.entries(machine())
    .map(([key, value]) => `${key} ${value}`)
    .join(' · ');
  return [
    `# Overload, clients that wait ${DEADLINE_MS} ms`,
    '',
    facts,
    '',
    '| job | clients | load | offered/s | good/s | goodput % of capacity | p99 of good ms | seconds to 95 % good at 0.7× | answers | failures |',
    '|---|---|---|---|---|---|---|---|---|---|',
    ...rows.map((row) =>
      [
        '',
        row.job,
        row.clients,
        `${row.factor}×`,
        row.offeredPerSecond.toFixed(0),
        row.goodPerSecond.toFixed(1),
        (row.goodputRatio * 100).toFixed(0),
        row.p99Ms.toFixed(0),
        row.recoverySeconds ?? 'never',
        JSON.stringify(row.statuses),
        JSON.stringify(row.failures),
        '',
      ]
        .join(' | ')
        .trim(),
    ),
    '',
    `Open loop, Poisson arrivals: ${BEFORE_SECONDS} s at half the capacity, ${OVERLOAD_SECONDS} s at the given multiple, ${AFTER_SECONDS} s at ${AFTER_RATIO}×. Server tree on one core, generator on another. Capacity: closed loop with ${CAPACITY_CONNECTIONS} connections, before. Good: the right answer within ${DEADLINE_MS} ms of the intended start.`,
    '',
  ].join('\n');
}

function line(row: OverloadRow): string {
  return `${row.job.padEnd(12)} ${row.clients.padEnd(20)} ${String(row.factor).padStart(2)}×  offered ${row.offeredPerSecond.toFixed(0).padStart(7)}/s  good ${row.goodPerSecond.toFixed(1).padStart(8)}/s  ${(row.goodputRatio * 100).toFixed(0).padStart(3)} %  p99 ${row.p99Ms.toFixed(0)} ms  recovery ${row.recoverySeconds ?? 'never'} s  lag ${row.maxLagMs.toFixed(0)} ms  ${JSON.stringify(row.statuses)} ${JSON.stringify(row.failures)}`;
}

function say(text: string): void {
  process.stderr.write(`${text}\n`);
}
