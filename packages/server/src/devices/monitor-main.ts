import { openLibc } from '../transport/libc.ts';
import type { OpenSource } from './device-source.ts';
import { findDriver } from './driver-presence.ts';
import { type MonitorFrame, writeFrame } from './monitor-frame.ts';
import { readMonitorOptions } from './monitor-options.ts';
import { openNvml } from './nvml-source.ts';
import { openSmi } from './smi-source.ts';

/**
 * The monitor: a program of its own, since a driver's library may hang or crash its process. It writes one JSON line for
 * each sample on stdout and lives as long as its stdin is open. Exit status: 0 when there is nothing to monitor or the
 * host is gone, 1 when the driver stopped answering.
 */
const PR_SET_PDEATHSIG = 1;
const SIGKILL = 9;
/** So many looks in a row that failed: then it is better to start afresh. */
const MAX_TROUBLES = 3;
const EXIT_BROKEN = 1;

const options = readMonitorOptions(process.argv[2]);

function tell(frame: MonitorFrame): void {
  process.stdout.write(writeFrame(frame));
}

function open(): OpenSource | string {
  const driver = findDriver(options, process.env);
  const lookedFor = `looked for ${driver.lookedFor.join(', ')}`;
  if (!driver.present) return `no NVIDIA driver was found (${lookedFor})`;
  // Who names only the program means it alone.
  const nvml =
    options.library === undefined && options.smi !== undefined
      ? 'NVML was not asked for'
      : openNvml(driver.library);
  if (typeof nvml !== 'string') return nvml;
  if (driver.smi === undefined) return `${nvml}; nvidia-smi was not found (${lookedFor})`;
  return openSmi(driver.smi, options.smiLimitMs);
}

/** Ends with the host: by the closed stdin, and by the kernel where a call of the driver hangs. */
function liveWithParent(source: OpenSource): void {
  const parent = process.ppid;
  const libc = openLibc();
  if (typeof libc !== 'string') libc.prctl(PR_SET_PDEATHSIG, SIGKILL);
  // It may have gone before the kernel was asked.
  if (process.ppid !== parent) process.exit(0);
  const leave = (): void => {
    source.close();
    process.exit(0);
  };
  process.stdin.on('end', leave).on('close', leave).on('error', leave).resume();
  process.stdout.on('error', leave);
  // Signals to the whole process group are for the host, which closes our stdin when it stops.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
}

async function watch(source: OpenSource): Promise<never> {
  let troubles = 0;
  for (;;) {
    try {
      tell({ kind: 'sample', ...(await source.sample()) });
      troubles = 0;
    } catch (error) {
      troubles += 1;
      const reason = error instanceof Error ? error.message : String(error);
      tell({ kind: 'trouble', reason });
      if (troubles >= MAX_TROUBLES) {
        process.stderr.write(`${reason}\n`);
        process.exit(EXIT_BROKEN);
      }
    }
    await new Promise((resolve) => setTimeout(resolve, options.intervalMs));
  }
}

async function lookOnce(source: OpenSource): Promise<void> {
  try {
    tell({ kind: 'sample', ...(await source.sample()) });
  } catch (error) {
    tell({ kind: 'trouble', reason: error instanceof Error ? error.message : String(error) });
  }
  source.close();
}

process.title = 'gimbal-devices';
const source = open();
if (typeof source === 'string') tell({ kind: 'cpu-only', reason: source });
else if (options.once) await lookOnce(source);
else {
  liveWithParent(source);
  await watch(source);
}
