import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { type CancelledCost, cancelledCost } from './cancelled.ts';
import { type Job, prepareJobs } from './jobs.ts';
import { measureKills, reportKills } from './kills.ts';
import { runBare, runLoad, type ServerUnderTest, startGimbal } from './measure.ts';
import { reportOverload } from './overload.ts';
import { runPeers } from './peers.ts';
import { canPin } from './pinned.ts';
import { treeUsage } from './process-tree.ts';
import { type History, machine, type Row, table } from './report.ts';
import { layModels } from './served-models.ts';

const USAGE = `Usage: npm run bench -- [options]
  --jobs digits,image-tensor,jpeg,text   which jobs (default: all)
  --connections 1,16,64                  closed-loop concurrencies
  --rounds 3                             bare and server in turn, medians reported
  --seconds 4                            measured time of each run, after 1 s of warm-up
  --image-model FILE.onnx                a classifier of [n,3,224,224] "image" → 1,000 "scores" (default: the shipped lite0-int8)
  --cancelled                            what a request costs whose client leaves before it is started (JPEG job)
  --overload                             instead: goodput at 2, 5 and 10 times the capacity, and after it
  --clients header,kept,retries          with it: who sends the deadline, who keeps it, who asks again without a budget
  --factors 2,5,10                       with it: multiples of the capacity
  --kills                                instead: kill -9 of a runner every 2 s for a minute, two runners
  --peers DIR                            also run the other servers that DIR/run.py finds installed, on its own jobs
  --save NAME                            keep the result in bench/history/NAME.json and .md
`;

/** Of each job, once, before its first measured run. */
const PREWARM_SECONDS = 8;

const PATIENCE_MS = 60_000;

const say = (line: string): void => void process.stderr.write(`${line}\n`);

async function main(): Promise<number> {
  const options = readOptions();
  if (!options) return 2;
  const scratch = mkdtempSync(join(tmpdir(), 'gimbal-bench-'));
  try {
    return await measure(options, scratch);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

type Options = NonNullable<ReturnType<typeof readOptions>>;

function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        jobs: { type: 'string', default: 'digits,image-tensor,jpeg,text' },
        connections: { type: 'string', default: '1,16,64' },
        rounds: { type: 'string', default: '3' },
        seconds: { type: 'string', default: '4' },
        'image-model': { type: 'string', default: 'examples/models/efficientnet/1/lite0-int8.onnx' },
        peers: { type: 'string' },
        cancelled: { type: 'boolean', default: false },
        overload: { type: 'boolean', default: false },
        kills: { type: 'boolean', default: false },
        clients: { type: 'string', default: 'header,kept,retries' },
        factors: { type: 'string', default: '2,5,10' },
        save: { type: 'string' },
        help: { type: 'boolean', default: false },
      },
    });
    if (values.help) {
      process.stdout.write(USAGE);
      process.exit(0);
    }
    return values;
  } catch (error) {
    say(`Cannot read the options: ${error instanceof Error ? error.message : String(error)}\n${USAGE}`);
    return undefined;
  }
}

async function measure(options: Options, scratch: string): Promise<number> {
  if (!canPin)
    say(
      'Not pinned: this machine has no taskset or one core; server and generator share cores, ratios are low.',
    );
  const models = join(scratch, 'models');
  const sources = layModels(options['image-model'], models, scratch);
  const wanted = options.jobs.split(',');
  const jobs = (await prepareJobs(sources)).filter((job) => wanted.includes(job.name));
  say('Starting the server…');
  const server = await startGimbal(models, options.kills ? ['--runners-count', '2'] : []);
  const idle = treeUsage(server.pid);
  const rows: Row[] = [];
  let cancelled: CancelledCost | undefined;
  if (options.kills || options.overload) {
    try {
      return await disturb({ options, jobs, server, scratch });
    } finally {
      await server.stop();
    }
  }
  try {
    const connections = options.connections.split(',').map(Number);
    for (let round = 1; round <= Number(options.rounds); round += 1) {
      for (const job of jobs)
        rows.push(
          ...(await measureJob({
            job,
            server,
            round,
            connections,
            seconds: Number(options.seconds),
            scratch,
          })),
        );
    }
    const jpeg = jobs.find((job) => job.name === 'jpeg');
    if (options.cancelled && jpeg) cancelled = await cancelledCost(server, jpeg, scratch);
  } finally {
    await server.stop();
  }
  const history: History = {
    date: new Date().toISOString(),
    machine: machine(),
    imageModel: basename(options['image-model']),
    startMs: Math.round(server.startMs),
    idlePssBytes: idle?.pssBytes,
    ...(cancelled ? { cancelled } : {}),
    rows,
  };
  report(history, options.save);
  if (options.peers !== undefined) await runPeers(options.peers, say);
  return 0;
}

/** What is done to the server instead of measuring its speed. */
async function disturb({
  options,
  jobs,
  server,
  scratch,
}: {
  options: Options;
  jobs: readonly Job[];
  server: ServerUnderTest;
  scratch: string;
}): Promise<number> {
  if (options.overload) {
    return await reportOverload({
      jobs,
      server,
      scratch,
      save: options.save,
      clients: options.clients.split(','),
      factors: options.factors.split(',').map(Number),
    });
  }
  const results = [];
  for (const job of jobs) results.push(await measureKills({ job, server, scratch }));
  reportKills(results, options.save);
  return 0;
}

async function measureJob(run: {
  job: Job;
  server: ServerUnderTest;
  round: number;
  connections: readonly number[];
  seconds: number;
  scratch: string;
}): Promise<Row[]> {
  const { server, round, seconds, scratch } = run;
  const job = patient(run.job);
  const bare = await runBare(job, scratch, seconds);
  say(
    `round ${round}  ${job.name.padEnd(12)} bare            ${bare.itemsPerSecond.toFixed(0).padStart(8)} items/s`,
  );
  const rows: Row[] = [];
  // At a few dozen answers a second the host's code takes some hundred requests to be compiled: that is not what is measured.
  if (round === 1)
    await runLoad(server, job, {
      mode: { kind: 'closed', connections: 16, warmupSeconds: 0, seconds: PREWARM_SECONDS },
      deadlineMs: undefined,
      scratch,
    });
  for (const connections of run.connections) {
    const before = await batchSums(server.adminUrl, job);
    const gimbal = await runLoad(server, job, {
      mode: { kind: 'closed', connections, warmupSeconds: 1, seconds },
      deadlineMs: undefined,
      scratch,
    });
    const after = await batchSums(server.adminUrl, job);
    const meanBatch = (after.rows - before.rows) / (after.batches - before.batches);
    rows.push({
      job: job.name,
      round,
      connections,
      bare,
      gimbal,
      meanBatch: Number.isFinite(meanBatch) ? meanBatch : undefined,
    });
    const ratio = gimbal.load.goodPerSecond / bare.itemsPerSecond;
    say(
      `round ${round}  ${job.name.padEnd(12)} ${String(connections).padStart(2)} connections  ${gimbal.load.goodPerSecond.toFixed(0).padStart(8)} answers/s   ratio ${ratio.toFixed(3)}   p50 ${gimbal.load.latencyMs.p50} ms   batch ${meanBatch.toFixed(1)}`,
    );
  }
  return rows;
}

/** A closed loop asks for capacity: its callers say that they wait, else the server would keep the queue short. */
function patient(job: Job): Job {
  const cases = job.cases.map((one) => ({
    ...one,
    headers: [...one.headers, `Inference-Timeout-Ms: ${PATIENCE_MS}`],
  }));
  return { ...job, cases };
}

/** Rows and batches so far, from the server's own batch-size histogram. */
async function batchSums(adminUrl: string, job: Job): Promise<{ rows: number; batches: number }> {
  const model = /models\/([^/]+)\//.exec(job.cases[0]?.path ?? '')?.[1] ?? '';
  const text = await (await fetch(new URL('/metrics', adminUrl))).text();
  const sum = (suffix: string): number =>
    text
      .split('\n')
      .filter((line) => line.startsWith(`gimbal_batch_size_${suffix}{`) && line.includes(`model="${model}"`))
      .reduce((total, line) => total + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
  return { rows: sum('sum'), batches: sum('count') };
}

function report(history: History, save: string | undefined): void {
  const facts = Object.entries(history.machine)
    .map(([key, value]) => `${key} ${value}`)
    .join(' · ');
  const idle =
    history.idlePssBytes === undefined ? 'not measured' : `${Math.round(history.idlePssBytes / 2 ** 20)} MiB`;
  const text = [
    `# Gimbal beside the bare runtime, ${history.date.slice(0, 10)}`,
    '',
    `${facts} · image model ${history.imageModel}`,
    `Start to ready ${history.startMs} ms on one core (3 models) · memory of the tree when idle ${idle} (PSS)`,
    '',
    table(history),
    '',
    ...cancelledLines(history),
    'Server tree on one core, generator on another; bare = onnxruntime-node in a loop on the server core in the same round; medians over the rounds.',
    '',
  ].join('\n');
  process.stdout.write(text);
  if (save === undefined) return;
  mkdirSync('bench/history', { recursive: true });
  writeFileSync(`bench/history/${save}.json`, `${JSON.stringify(history, null, 1)}\n`);
  writeFileSync(`bench/history/${save}.md`, text);
  say(`Kept in bench/history/${save}.{json,md}`);
}

function cancelledLines({ cancelled }: History): string[] {
  if (!cancelled) return [];
  const { costRatio, cancelledPerSecond, answeredPerSecondAlone, answeredPerSecondBeside } = cancelled;
  return [
    `A request whose client leaves before it is started costs ${(costRatio * 100).toFixed(1)} % of an answered one (JPEG job: ${answeredPerSecondAlone.toFixed(1)} answers/s alone, ${answeredPerSecondBeside.toFixed(1)} beside ${cancelledPerSecond.toFixed(1)} leaving clients a second)`,
    '',
  ];
}

process.exitCode = await main();
