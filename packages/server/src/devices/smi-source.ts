import { execFile } from 'node:child_process';
import type { DeviceSample } from './device-reading.ts';
import type { OpenSource } from './device-source.ts';
import { readSmiOutput, SMI_ARGUMENTS } from './smi-output.ts';

/** Most bytes that are read; 64 devices print about 16 KiB. */
const MAX_OUTPUT_BYTES = 256 * 1024;
/** Longest piece of a complaint that is passed on. */
const MAX_REASON_LENGTH = 200;

/** Reads devices by running `nvidia-smi`, which is killed after `limitMs`: it hangs when the driver does. */
export function openSmi(program: string, limitMs: number): OpenSource {
  let running: ReturnType<typeof execFile> | undefined;
  return {
    sample: () =>
      new Promise<DeviceSample>((resolve, reject) => {
        const limits = { timeout: limitMs, killSignal: 'SIGKILL', maxBuffer: MAX_OUTPUT_BYTES } as const;
        running = execFile(program, SMI_ARGUMENTS, limits, (error, stdout, stderr) => {
          running = undefined;
          const sample = readSmiOutput(stdout);
          // Some versions report a fault of one device by their exit status and still list the others.
          if (sample.devices.length > 0 && error?.killed !== true) resolve(sample);
          else reject(new Error(`nvidia-smi ${complaintOf(error, { stdout, stderr, limitMs })}`));
        });
      }),
    close: () => {
      running?.kill('SIGKILL');
    },
  };
}

function complaintOf(
  error: (Error & { killed?: boolean | undefined; code?: number | string | null | undefined }) | null,
  { stdout, stderr, limitMs }: { stdout: string; stderr: string; limitMs: number },
): string {
  if (error?.code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER') return `printed over ${MAX_OUTPUT_BYTES} bytes`;
  if (error?.killed === true) return `did not answer within ${limitMs} ms and was ended`;
  const said = `${stderr}\n${stdout}`.trim().split('\n')[0]?.slice(0, MAX_REASON_LENGTH) ?? '';
  const how = error ? `failed (${error.code ?? 'unknown reason'})` : 'listed no device';
  return said === '' ? how : `${how}: ${said}`;
}
