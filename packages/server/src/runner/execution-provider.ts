import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { arch, platform, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** A profile of one run of the largest graphs has some ten thousand events of 500 bytes. */
const MAX_PROFILE_BYTES = 64 * 1024 * 1024;

/** Where a model can run, as it is written in `providers`: `cpu`, `cuda`, `cuda:1`, `cuda:GPU-4c1f…`. */
export interface ExecutionProvider {
  readonly name: string;
  /** What it is called in reports: `cpu`, `cuda:0`. */
  readonly device: string;
  /** For CUDA: the device's place in the order of the PCI bus. */
  readonly deviceId: number | undefined;
  /** For CUDA: the device's identity, where it was named by that. */
  readonly uuid: string | undefined;
}

export function readProvider(written: string): ExecutionProvider {
  const [name = '', device = ''] = written.split(/:(.*)/s);
  if (name !== 'cuda') {
    return { name: written, device: written, deviceId: undefined, uuid: undefined };
  }
  if (/^(GPU|MIG)-/.test(device)) {
    // The process sees this device alone, as its first.
    return { name, device: written, deviceId: 0, uuid: device };
  }
  const deviceId = /^\d{1,3}$/.test(device) ? Number(device) : 0;
  return { name, device: `cuda:${deviceId}`, deviceId, uuid: undefined };
}

/** `auto` becomes CUDA before the CPU where CUDA can work at all, and the CPU alone elsewhere. */
export function expandProviders(
  providers: readonly string[],
  missing: (name: string) => string | undefined,
): readonly string[] {
  return providers.flatMap((provider) => {
    if (provider !== 'auto') return [provider];
    return missing('cuda') === undefined ? ['cuda', 'cpu'] : ['cpu'];
  });
}

/** Why a provider can't work here, told by files alone; undefined: it may. */
export function missingForProvider(name: string): string | undefined {
  if (name !== 'cuda') return undefined;
  const binding = createRequire(import.meta.url).resolve('onnxruntime-node/dist/binding.js');
  const folder = join(dirname(binding), '..', 'bin', 'napi-v6', platform(), arch());
  if (!existsSync(join(folder, 'libonnxruntime_providers_cuda.so'))) {
    return 'onnxruntime-node has no CUDA library here, expected one that was installed with onnxruntime-node-install=cuda12';
  }
  if (!['/dev/nvidiactl', '/dev/dxg'].some((path) => existsSync(path))) return 'there is no NVIDIA device';
  return undefined;
}

/** What the runtime is given for a provider. */
export function providerOption({ name, deviceId }: ExecutionProvider): string | object {
  return deviceId === undefined ? name : { name, deviceId };
}

/**
 * Makes CUDA count devices as the driver's tools and our monitor do: by the PCI bus. Its own order is by speed. Must come
 * before the first use of CUDA in this process.
 */
export function selectDevice({ name, uuid }: ExecutionProvider, environment: NodeJS.ProcessEnv): void {
  if (name !== 'cuda') return;
  environment.CUDA_DEVICE_ORDER ??= 'PCI_BUS_ID';
  if (uuid !== undefined) environment.CUDA_VISIBLE_DEVICES = uuid;
}

/** How many nodes of a graph ran, and how many of them on the provider that was asked for. */
export interface NodePlacement {
  readonly nodes: number;
  readonly onProvider: number;
}

/**
 * The runtime does not say which provider it uses: what CUDA can't run goes to the CPU without a word, in the extreme all
 * of it. Only its profile tells, so that the first run is profiled and then no other.
 */
export class PlacementProof {
  readonly #folder = mkdtempSync(join(tmpdir(), 'gimbal-profile-'));

  /** For the session's options. */
  get options(): object {
    return { enableProfiling: true, profileFilePrefix: join(this.#folder, 'run') };
  }

  /** After `endProfiling`. */
  placement(provider: string): NodePlacement {
    const wanted = provider === 'cpu' ? 'CPUExecutionProvider' : `${provider.toUpperCase()}ExecutionProvider`;
    const used = readdirSync(this.#folder).flatMap((file) => providersIn(join(this.#folder, file)));
    return { nodes: used.length, onProvider: used.filter((name) => name === wanted).length };
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** The provider of each node that ran. */
function providersIn(file: string): string[] {
  if (statSync(file).size > MAX_PROFILE_BYTES) return [];
  const events: unknown = JSON.parse(readFileSync(file, 'utf8'));
  if (!Array.isArray(events)) return [];
  return events.flatMap((event) => {
    const provider: unknown = event?.cat === 'Node' ? event.args?.provider : undefined;
    return typeof provider === 'string' && provider !== '' ? [provider] : [];
  });
}
