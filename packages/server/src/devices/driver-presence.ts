import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

export const NVML_LIBRARY = 'libnvidia-ml.so.1';
export const NVIDIA_SMI = 'nvidia-smi';

/** Where distributions, container runtimes and WSL put the driver's library. */
const LIBRARY_FOLDERS = [
  '/usr/lib/x86_64-linux-gnu',
  '/usr/lib/aarch64-linux-gnu',
  '/usr/lib64',
  '/usr/lib',
  '/usr/local/nvidia/lib64',
  '/usr/lib/wsl/lib',
  '/run/opengl-driver/lib',
] as const;
const DEVICE_FILES = ['/dev/nvidiactl', '/dev/nvidia0', '/dev/dxg'] as const;

export interface DriverPlaces {
  /** NVML's library instead of the system's. */
  readonly library?: string | undefined;
  /** The program instead of the `nvidia-smi` on the search path. */
  readonly smi?: string | undefined;
}

export interface DriverPresence {
  /** Whether it is worth starting anything. */
  readonly present: boolean;
  /** What `koffi.load` is given. */
  readonly library: string;
  /** Undefined: there is no such program. */
  readonly smi: string | undefined;
  /** For people: what was looked for. */
  readonly lookedFor: readonly string[];
}

/** Looks for an NVIDIA driver by its files alone, in well under a millisecond: nothing is loaded or started. */
export function findDriver(
  places: DriverPlaces,
  environment: Readonly<Record<string, string | undefined>>,
): DriverPresence {
  const library = places.library ?? NVML_LIBRARY;
  // Who names a library or a program means it and nothing else.
  if (places.library !== undefined || places.smi !== undefined) return named(places, library);
  const smi = onPath(NVIDIA_SMI, environment.PATH);
  const hasDevice = DEVICE_FILES.some((path) => existsSync(path));
  return {
    present: hasDevice || smi !== undefined || hasSystemLibrary(environment),
    library,
    smi,
    lookedFor: [NVML_LIBRARY, NVIDIA_SMI, ...DEVICE_FILES],
  };
}

function named(places: DriverPlaces, library: string): DriverPresence {
  const smi = places.smi !== undefined && existsSync(places.smi) ? places.smi : undefined;
  const hasLibrary = places.library !== undefined && existsSync(library);
  const lookedFor = [places.library, places.smi].filter((path) => path !== undefined);
  return { present: hasLibrary || smi !== undefined, library, smi, lookedFor };
}

function hasSystemLibrary({ LD_LIBRARY_PATH = '' }: Readonly<Record<string, string | undefined>>): boolean {
  const folders = [...LD_LIBRARY_PATH.split(delimiter).filter((folder) => folder !== ''), ...LIBRARY_FOLDERS];
  return folders.some((folder) => existsSync(join(folder, NVML_LIBRARY)));
}

function onPath(program: string, path = ''): string | undefined {
  const folders = path.split(delimiter).filter((folder) => folder !== '');
  return folders.map((folder) => join(folder, program)).find((candidate) => existsSync(candidate));
}
