import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describeByteSize } from '@gimbal/core/config';
import type { Command } from 'commander';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { Failure } from '../failure.ts';
import { durationMs } from '../flag-value.ts';
import { ServerClient, serverUrl } from '../server-client.ts';
import type { Terminal } from '../terminal.ts';
import type { Verb, VerbContext } from '../verb.ts';

const USUAL_ADMIN_URL = 'http://127.0.0.1:8002';
const USUAL_TIMEOUT_MS = 10_000;
/** The driver of a machine with many devices takes seconds to wake; one that hangs never answers. */
const LOOK_LIMIT_MS = 30_000;
/** One sample of 64 devices with all their processes. */
const MAX_LOOK_LENGTH = 1024 * 1024;
const BAR_CELLS = 10;

interface Options {
  readonly json: boolean;
  readonly adminUrl?: string;
  readonly local: boolean;
  readonly timeout: number;
}

/** `GET /admin/v1/devices`, as far as it is shown; all may be missing. */
interface DevicesDocument {
  readonly monitor?: { readonly state?: string; readonly reason?: string | null };
  readonly sample_age_ms?: number | null;
  readonly devices?: readonly DeviceDocument[];
  readonly [member: string]: unknown;
}

interface DeviceDocument {
  readonly index?: number;
  readonly uuid?: string;
  readonly name?: string;
  readonly state?: string | null;
  readonly because?: string | null;
  readonly memory_total_bytes?: number | null;
  readonly memory_used_bytes?: number | null;
  readonly utilization_ratio?: number | null;
  readonly temperature_celsius?: number | null;
  readonly power_watts?: number | null;
  readonly power_limit_watts?: number | null;
  readonly runners?: readonly string[];
}

/** The members of a monitor's sample that are shown. */
interface DeviceReading {
  readonly index: number;
  readonly uuid: string;
  readonly name: string;
  readonly memory?: { readonly totalBytes: number; readonly usedBytes: number; readonly freeBytes: number };
  readonly busyRatio?: number;
  readonly memoryBusyRatio?: number;
  readonly temperatureCelsius?: number;
  readonly slowdownCelsius?: number;
  readonly powerWatts?: number;
  readonly powerLimitWatts?: number;
  readonly uncorrectedErrors?: number;
  readonly processes?: readonly { readonly pid: number; readonly usedBytes?: number }[];
  readonly lost: boolean;
}

export const devices: Verb = {
  define(command: Command, run) {
    command
      .option(
        '--admin-url <url>',
        `admin address of a server (default: GIMBAL_ADMIN_URL, else ${USUAL_ADMIN_URL})`,
      )
      .option('--local', "look at this machine's devices without asking a server", false)
      .option('--timeout <duration>', 'the longest that the server may take', durationMs, USUAL_TIMEOUT_MS)
      .option('--json', 'print one JSON document', false)
      .action((options: Options) => run((context) => show(options, context), options));
  },
};

async function show(options: Options, context: VerbContext): Promise<ExitCode> {
  const terminal = context.terminal(options);
  const document = options.local
    ? await lookHere(terminal, context)
    : ((await askServer(options, context)) ?? (await lookHere(terminal, context)));
  if (options.json) terminal.printJson(document);
  else printDevices(terminal, document);
  return EXIT.ok;
}

/** Undefined: nobody named a server, and none is at the usual place. */
async function askServer(
  { adminUrl, timeout }: Options,
  { environment }: VerbContext,
): Promise<DevicesDocument | undefined> {
  const named = adminUrl ?? (environment.GIMBAL_ADMIN_URL || undefined);
  const client = new ServerClient(serverUrl(named ?? USUAL_ADMIN_URL, environment), timeout);
  try {
    const { body } = await client.request({ method: 'GET', path: '/admin/v1/devices' });
    return { asked: 'server', ...(body as DevicesDocument) };
  } catch (error) {
    // Something else may listen at the usual place; a server that was named must answer.
    if (named === undefined && error instanceof Failure) return undefined;
    throw error;
  }
}

/** One look of the device monitor, in its own process: a driver that crashes takes only that along. */
async function lookHere(terminal: Terminal, context: VerbContext): Promise<DevicesDocument> {
  const line = await terminal.during('Looking for devices', runMonitor(context));
  const frame = JSON.parse(line) as {
    readonly kind: 'sample' | 'trouble' | 'cpu-only';
    readonly reason?: string;
    readonly source?: string;
    readonly driver?: string;
    readonly devices?: readonly DeviceReading[];
  };
  if (frame.kind === 'trouble') {
    throw new Failure(EXIT.failure, 'Cannot read the devices: the driver did not answer', {
      got: frame.reason,
      fix: 'look at nvidia-smi and the kernel log',
    });
  }
  return {
    asked: 'driver',
    monitor: { state: frame.kind === 'cpu-only' ? 'cpu-only' : 'once', reason: frame.reason ?? null },
    source: frame.source ?? null,
    driver: frame.driver ?? null,
    sample_age_ms: frame.kind === 'cpu-only' ? null : 0,
    devices: (frame.devices ?? []).map(documentOf),
  };
}

/** The same members as a server's; what only a server knows is null. */
function documentOf(reading: DeviceReading): DeviceDocument {
  const { memory } = reading;
  const document = {
    index: reading.index,
    uuid: reading.uuid,
    name: reading.name,
    state: reading.lost ? 'lost' : null,
    because: reading.lost ? 'the driver has lost it' : null,
    pressure_ratio: null,
    memory_total_bytes: memory?.totalBytes ?? null,
    memory_used_bytes: memory?.usedBytes ?? null,
    memory_free_bytes: memory?.freeBytes ?? null,
    utilization_ratio: reading.busyRatio ?? null,
    memory_utilization_ratio: reading.memoryBusyRatio ?? null,
    temperature_celsius: reading.temperatureCelsius ?? null,
    slowdown_celsius: reading.slowdownCelsius ?? null,
    power_watts: reading.powerWatts ?? null,
    power_limit_watts: reading.powerLimitWatts ?? null,
    uncorrected_memory_errors: reading.uncorrectedErrors ?? null,
    processes:
      reading.processes?.map(({ pid, usedBytes }) => ({ pid, used_bytes: usedBytes ?? null })) ?? null,
    permits: null,
    permits_held: null,
    runners: [],
  };
  return document;
}

/** The monitor's program lies in @gimbal/server, built or not. */
async function runMonitor({ environment }: VerbContext): Promise<string> {
  const server = import.meta.resolve('@gimbal/server');
  const extension = server.endsWith('.ts') ? 'ts' : 'js';
  const program = fileURLToPath(new URL(`./devices/monitor-main.${extension}`, server));
  const options = {
    once: true,
    library: environment.GIMBAL_NVML_LIBRARY || undefined,
    smi: environment.GIMBAL_NVIDIA_SMI || undefined,
  };
  const child = spawn(process.execPath, [program, JSON.stringify(options)], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    if (output.length < MAX_LOOK_LENGTH) output += text;
  });
  let hangs = false;
  const limit = setTimeout(() => {
    hangs = true;
    child.kill('SIGKILL');
  }, LOOK_LIMIT_MS);
  const ending = await new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, signal) => resolve(signal ?? `exit code ${code}`));
  });
  clearTimeout(limit);
  const line = output.split('\n')[0] ?? '';
  if (line !== '') return line;
  throw new Failure(
    hangs ? EXIT.timeout : EXIT.failure,
    `Cannot read the devices: the driver ${hangs ? 'hangs' : 'ended the process that asked it'}`,
    {
      expected: hangs ? `an answer within ${LOOK_LIMIT_MS} ms` : 'an answer',
      got: ending,
      fix: 'look at nvidia-smi and the kernel log',
    },
  );
}

function printDevices(terminal: Terminal, document: DevicesDocument): void {
  const { bold, red, yellow } = terminal.colours;
  const { monitor, devices: found = [], sample_age_ms: ageMs } = document;
  if (found.length === 0) {
    terminal.print('No GPU here: models run on the CPU');
    if (monitor?.reason) terminal.print(`  ${monitor.reason}`);
    return;
  }
  const [head = [], ...rows] = [COLUMNS, ...found.map(cellsOf)];
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  terminal.print(bold(line(head)));
  for (const [index, row] of rows.entries()) {
    const state = found[index]?.state ?? '';
    const colour = state === 'faulted' || state === 'lost' ? red : state === 'pressured' ? yellow : String;
    terminal.print(colour(line(row)));
  }
  for (const device of found) {
    if (device.because) terminal.say(`${device.index ?? '?'} ${device.name ?? ''}: ${device.because}`);
  }
  if (monitor?.state === 'unmonitored' || monitor?.state === 'restarting') {
    const age = typeof ageMs === 'number' ? `, ${Math.round(ageMs / 1000)} s old` : '';
    terminal.say(`The device monitor is ${monitor.state} (${monitor.reason ?? 'no reason told'})${age}`);
  }
}

const COLUMNS = ['DEVICE', 'MEMORY', 'BUSY', 'TEMP', 'POWER', 'STATE', 'RUNNERS'] as const;

function cellsOf(device: DeviceDocument): readonly string[] {
  const { power_watts: watts, power_limit_watts: limit, temperature_celsius: celsius } = device;
  const power = watts === null || watts === undefined ? '-' : `${Math.round(watts)}`;
  const runners = device.runners ?? [];
  return [
    `${device.index ?? '?'} ${device.name ?? ''}`,
    memoryCell(device),
    percent(device.utilization_ratio),
    celsius === null || celsius === undefined ? '-' : `${Math.round(celsius)} °C`,
    typeof limit === 'number' ? `${power}/${Math.round(limit)} W` : power === '-' ? '-' : `${power} W`,
    device.state ?? '-',
    runners.length === 0 ? '-' : runners.join(', '),
  ];
}

function memoryCell({ memory_used_bytes: used, memory_total_bytes: total }: DeviceDocument): string {
  if (typeof used !== 'number' || typeof total !== 'number' || total <= 0) return '-';
  const filled = Math.min(BAR_CELLS, Math.round((used / total) * BAR_CELLS));
  const bar = '█'.repeat(filled) + '░'.repeat(BAR_CELLS - filled);
  return `${bar} ${describeByteSize(used)} of ${describeByteSize(total)}`;
}

function percent(ratio: number | null | undefined): string {
  return typeof ratio === 'number' ? `${Math.round(ratio * 100)} %` : '-';
}
