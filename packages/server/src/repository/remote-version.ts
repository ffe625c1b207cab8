import { join } from 'node:path';
import type {
  RemoteHeader,
  RemoteProtocol,
  RemoteSpec,
  RemoteTls,
  Signature,
  Task,
  TensorSpec,
} from '@gimbal/core';
import type { DeclaredRemote, VersionFile } from '@gimbal/core/config';
import { containedPath } from './contained-path.ts';
import type { ProblemReport } from './problem-report.ts';
import { deriveBatchAxis } from './signature-derivation.ts';
import { deriveTask } from './task-derivation.ts';
import type { VersionSource } from './version-source.ts';

const SECOND_MS = 1_000;
const MIB = 1024 * 1024;

/** A version that runs in someone else's server: what a model file would tell of another. */
export interface RemoteVersion {
  readonly remote: RemoteSpec;
  /** Without tensors where the server is asked for them at load. */
  readonly signature: Signature;
  readonly task: { readonly task: Task; readonly because: string };
  readonly signatureFrom: string;
  /** Files of the folder that belong to it. */
  readonly artefacts: readonly string[];
}

const EMBEDDING_SIGNATURE: Signature = {
  inputs: [aTensor('text', 'BYTES', [-1])],
  outputs: [aTensor('embedding', 'FP32', [-1, -1])],
  batchAxis: 'dynamic',
};

const CHAT_SIGNATURE: Signature = {
  inputs: [aTensor('text_input', 'BYTES', [1])],
  outputs: [aTensor('text_output', 'BYTES', [1]), aTensor('response', 'BYTES', [1])],
  batchAxis: 'none',
};

/** Completes the section `remote` of a version.yaml; problems go to the report. */
export async function readRemote(
  source: VersionSource,
  { declared, remote }: { declared: VersionFile; remote: DeclaredRemote },
  report: ProblemReport,
): Promise<RemoteVersion> {
  if (declared.variants !== undefined) {
    report.addField(['variants'], {
      expected: 'no "variants" beside "remote"',
      got: '"variants"',
      hint: 'serve the files as another version of the model',
    });
  }
  const protocol: RemoteProtocol =
    remote.protocol ?? (remote.endpoints[0]?.startsWith('grpc') ? 'v2-grpc' : 'v2-rest');
  const { signature, from } = signatureOf(protocol, remote, report);
  const tls = await readTls(source, remote, report);
  return {
    remote: complete(source.model, { protocol, remote, tls }),
    signature,
    signatureFrom: from,
    task: taskOf(protocol, { declared, signature, report }),
    artefacts: [remote.tls?.ca, remote.tls?.cert, remote.tls?.key].filter((file) => file !== undefined),
  };
}

function complete(
  model: string,
  { protocol, remote, tls }: { protocol: RemoteProtocol; remote: DeclaredRemote; tls: RemoteTls | undefined },
): RemoteSpec {
  const maxConcurrency = Math.max(
    remote.maxConcurrency ?? 32,
    typeof remote.concurrency === 'number' ? remote.concurrency : 1,
  );
  return {
    protocol,
    endpoints: [...new Set(remote.endpoints.map((address) => address.replace(/\/+$/, '')))],
    model: remote.model ?? model,
    version: remote.version,
    encoding: remote.encoding ?? 'auto',
    concurrency: remote.concurrency ?? 'auto',
    maxConcurrency,
    headers: (remote.headers ?? []).map(headerOf),
    tls,
    connectTimeoutMs: remote.connectTimeout ?? SECOND_MS,
    attemptTimeoutMs: remote.attemptTimeout,
    maxResponseBytes: remote.maxResponse ?? 64 * MIB,
    probeIntervalMs: remote.probeInterval ?? SECOND_MS / 2,
    probeTimeoutMs: remote.probeTimeout ?? SECOND_MS / 2,
    attempts: remote.attempts ?? 3,
    retryRatio: remote.retryRatio ?? 0.1,
    hedgeRatio: remote.hedgeRatio ?? 0,
  };
}

function headerOf({
  name,
  value,
  env,
  prefix,
}: NonNullable<DeclaredRemote['headers']>[number]): RemoteHeader {
  if (env === undefined) return { name, from: { kind: 'value', value: value ?? '' } };
  return { name, from: { kind: 'environment', variable: env, prefix: prefix ?? '' } };
}

function signatureOf(
  protocol: RemoteProtocol,
  { inputs, outputs }: DeclaredRemote,
  report: ProblemReport,
): { signature: Signature; from: string } {
  if (protocol === 'openai-embeddings' || protocol === 'openai-chat') {
    if (inputs !== undefined) {
      const expected = `no "inputs" and "outputs", which the protocol ${protocol} has of its own`;
      report.addField(['remote', 'inputs'], { expected, got: 'some' });
    }
    const signature = protocol === 'openai-chat' ? CHAT_SIGNATURE : EMBEDDING_SIGNATURE;
    return { signature, from: `what ${protocol} takes and gives` };
  }
  if (inputs === undefined || outputs === undefined) {
    // Nothing else is known yet: whether rows can be batched is settled by the server's own description.
    return {
      signature: { inputs: [], outputs: [], batchAxis: 'dynamic' },
      from: 'asked of the server at load',
    };
  }
  const tensors = {
    inputs: inputs.map(({ name, datatype, shape }) => aTensor(name, datatype, shape)),
    outputs: outputs.map(({ name, datatype, shape }) => aTensor(name, datatype, shape)),
  };
  const { axis } = deriveBatchAxis(tensors.inputs, tensors.outputs);
  return { signature: { ...tensors, batchAxis: axis }, from: 'declared' };
}

/** Pictures and texts are decoded in runners, and a remote engine has none: only what needs no decoding can be served. */
function taskOf(
  protocol: RemoteProtocol,
  { declared, signature, report }: { declared: VersionFile; signature: Signature; report: ProblemReport },
): RemoteVersion['task'] {
  const embeds = protocol === 'openai-embeddings';
  const allowed: readonly Task[] = embeds
    ? ['text-embedding']
    : protocol === 'openai-chat'
      ? ['tensor']
      : ['tensor', 'tabular'];
  const { task } = declared;
  if (task !== undefined && !allowed.includes(task)) {
    report.addField(['task'], {
      expected: `${allowed.join(' or ')}, as the model runs at a remote engine that speaks ${protocol}`,
      got: task,
    });
  }
  if (task !== undefined) return { task, because: 'declared' };
  if (embeds) return { task: 'text-embedding', because: 'the remote engine embeds texts' };
  if (signature.inputs.length === 0)
    return { task: 'tensor', because: 'the server is asked for its tensors at load' };
  const derived = deriveTask({ ...signature, labelCount: undefined, hasTokenizer: false });
  return allowed.includes(derived.task)
    ? derived
    : { task: 'tensor', because: 'a remote engine takes tensors' };
}

async function readTls(
  source: VersionSource,
  { tls }: DeclaredRemote,
  report: ProblemReport,
): Promise<RemoteTls | undefined> {
  if (tls === undefined) return undefined;
  const paths: Partial<Record<'ca' | 'cert' | 'key', string>> = {};
  for (const which of ['ca', 'cert', 'key'] as const) {
    const file = tls[which];
    if (file === undefined) continue;
    const contained = await containedPath(source.root, source.folder, file);
    if (contained.ok) paths[which] = join(source.folder, file);
    else {
      report.addField(['remote', 'tls', which], {
        expected: 'a file inside the version’s folder',
        got: `${JSON.stringify(file)}, which is ${contained.why}`,
      });
    }
  }
  return { ca: paths.ca, cert: paths.cert, key: paths.key, serverName: tls.serverName };
}

function aTensor(name: string, datatype: TensorSpec['datatype'], shape: readonly number[]): TensorSpec {
  return { name, datatype, shape, axisNames: shape.map(() => null) };
}
