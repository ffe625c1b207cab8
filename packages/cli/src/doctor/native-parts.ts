import { spawn } from 'node:child_process';
import { openArena } from '@gimbal/server';
import { starterFiles } from '../starter-folder.ts';
import { type Finding, fail, ok, warn } from './finding.ts';

/** Loading the runtime takes a second on a cold disk. */
const CHILD_LIMIT_MS = 30_000;
const MAX_CHILD_OUTPUT_BYTES = 64 * 1024;
const PROBE_BYTES = 1024 * 1024;

/**
 * Runs in a process of its own, as native code that fails may take its process along. The packages belong to
 * @gimbal/server, so they are looked up from there.
 */
const PROBE = `
import { createRequire } from 'node:module';
const [kind, base, model] = process.argv.slice(1);
const require = createRequire(base);
if (kind === 'onnx') {
  const ort = require('onnxruntime-node');
  const session = await ort.InferenceSession.create(Buffer.from(model, 'base64'), { logSeverityLevel: 4 });
  const tensor = () => new ort.Tensor('int32', new Int32Array(16).fill(2), [1, 16]);
  const { OUTPUT0 } = await session.run({ INPUT0: tensor(), INPUT1: tensor() });
  const providers = ['cpu'];
  for (const provider of ['cuda']) {
    const options = { logSeverityLevel: 4, executionProviders: [provider] };
    await ort.InferenceSession.create(Buffer.from(model, 'base64'), options).then(() => providers.push(provider), () => {});
  }
  console.log(JSON.stringify({ version: ort.env.versions.node, providers, right: OUTPUT0.data[0] === 4 }));
} else {
  const sharp = require('sharp');
  const made = await sharp({ create: { width: 8, height: 8, channels: 3, background: 'red' } }).jpeg().toBuffer();
  const { info } = await sharp(made).raw().toBuffer({ resolveWithObject: true });
  const formats = Object.entries(sharp.format).filter(([, format]) => format.input.buffer).map(([name]) => name);
  console.log(JSON.stringify({ version: sharp.versions.sharp, vips: sharp.versions.vips, formats, right: info.width === 8 }));
}
`;

interface OnnxProbe {
  readonly version: string;
  readonly providers: readonly string[];
  readonly right: boolean;
}

interface SharpProbe {
  readonly version: string;
  readonly vips: string;
  readonly formats: readonly string[];
  readonly right: boolean;
}

const USUAL_FORMATS = ['jpeg', 'png', 'webp', 'gif', 'heif'];

/** Whether host and runners can share memory; without it tensors travel through sockets, which works and is slower. */
export function transport(): Finding {
  try {
    const { arena, reason } = openArena(PROBE_BYTES);
    const { kind } = arena;
    const span = arena.allocate(64);
    if (span !== undefined) arena.free(span);
    arena.close();
    if (kind === 'shared') return ok('transport', 'shared memory (memfd)');
    return warn(
      'transport',
      `socket frames: ${reason ?? 'shared memory is off'}`,
      'nothing, or Linux with memfd and koffi for a faster path',
    );
  } catch (error) {
    const found = error instanceof Error ? error.message : String(error);
    return fail('transport', found, 'set transport: heap');
  }
}

export async function onnxRuntime(): Promise<Finding> {
  const model = starterFiles().find(({ path }) => path.endsWith('.onnx'))?.content ?? '';
  const result = await probe<OnnxProbe>('onnx', Buffer.from(model as Uint8Array).toString('base64'));
  if (typeof result === 'string')
    return fail('onnxruntime', result, 'npm ci (with onnxruntime-node-install=skip in .npmrc)');
  const found = `onnxruntime-node ${result.version}, runs on ${result.providers.join(' and ')}`;
  return result.right ? ok('onnxruntime', found) : fail('onnxruntime', `${found}: wrong answers`, 'npm ci');
}

export async function images(): Promise<Finding> {
  const result = await probe<SharpProbe>('sharp', '');
  if (typeof result === 'string')
    return fail('sharp', result, 'npm ci --include=optional (the library comes by platform)');
  const found = `sharp ${result.version} with libvips ${result.vips}, reads ${result.formats.join(', ')}`;
  const missing = USUAL_FORMATS.filter((format) => !result.formats.includes(format));
  if (missing.length === 0) return ok('sharp', found);
  return warn('sharp', found, `pictures of ${missing.join(', ')} will be refused`);
}

/** What the child printed, or why it did not. */
async function probe<T>(kind: string, model: string): Promise<T | string> {
  const base = import.meta.resolve('@gimbal/server');
  const args = ['--input-type=module', '--eval', PROBE, kind, base, model];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const limit = setTimeout(() => child.kill('SIGKILL'), CHILD_LIMIT_MS);
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk) => {
    if (stdout.length < MAX_CHILD_OUTPUT_BYTES) stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    if (stderr.length < MAX_CHILD_OUTPUT_BYTES) stderr += chunk;
  });
  const ending = await new Promise<string | undefined>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, signal) =>
      resolve(code === 0 ? undefined : `ended with ${signal ?? `exit code ${code}`}`),
    );
  });
  clearTimeout(limit);
  try {
    if (ending === undefined) return JSON.parse(stdout) as T;
  } catch {
    return `said ${JSON.stringify(stdout.slice(0, 80))}`;
  }
  const reason = stderr.split('\n').find((line) => /Error/.test(line)) ?? '';
  return [ending, reason].filter((part) => part !== '').join(': ');
}
