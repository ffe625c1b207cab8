import { performance } from 'node:perf_hooks';
import type { CostProfile, Signature, VariantSpec } from '@gimbal/core';
import type { LoadOrder } from '../transport/control-message.ts';
import type { LoadedModel } from './batch-run.ts';
import { InputBatch } from './input-batch.ts';
import { unavailable } from './load-failure.ts';
import { confirmSignature, type ModelSession, openModelSession } from './model-session.ts';
import { MAX_PROFILE_ROWS, profileSizes, selfProfile } from './self-profile.ts';
import { createTaskAdapter } from './tasks/create.ts';
import { warmupInputs } from './tasks/warmup-inputs.ts';

/** Rows of the run that shows whether a batch really comes out as one. */
const CHECK_ROWS = 2;

export interface LoadPorts {
  /** The file is read; what follows are runs of the model. */
  onWarming(): void;
  /** Processor time that this process has used. */
  processorMs(): number;
  /** For the log: which provider was not taken, and why. */
  onNote(note: string): void;
}

export interface PreparedModel {
  readonly model: LoadedModel;
  readonly profile: CostProfile;
  readonly loadMs: number;
}

/**
 * Loads a variant, confirms its signature, checks that batches work, warms it and measures it. Fails with
 * MODEL_UNAVAILABLE and a public reason.
 */
export async function loadModel(order: LoadOrder, ports: LoadPorts): Promise<PreparedModel> {
  const started = performance.now();
  const variant = order.spec.variants[order.variant];
  if (!variant) throw unavailable(`there is no variant ${order.variant}`);
  const session = openModelSession({
    file: variant.file,
    threads: order.threads,
    providers: order.providers,
    tryRun: (opened) => {
      runOnce(opened, confirmSignature(opened, order.spec, order.variant), { rows: 1, variant });
    },
  });
  for (const note of session.notes ?? []) ports.onNote(note);
  const declared = confirmSignature(session, order.spec, order.variant);
  ports.onWarming();
  const signature = confirmBatching(session, declared, variant);
  const spec = { ...order.spec, signature };
  const adapter = await createTaskAdapter(spec, variant);
  const profile = order.profile ?? measureProfile(session, signature, { order, variant, ports });
  if (order.profile) warm(session, signature, { variant, profile });
  const loadMs = performance.now() - started;
  return { model: { spec, session, signature, adapter }, profile, loadMs };
}

/** Some graphs claim a free batch axis and then fail on two rows, or give one row for two: they run rows alone. */
function confirmBatching(session: ModelSession, signature: Signature, variant: VariantSpec): Signature {
  if (signature.batchAxis === 'none') return signature;
  try {
    const outputs = runOnce(session, signature, { rows: CHECK_ROWS, variant });
    if (signature.outputs.every(({ name }) => outputs[name]?.dims[0] === CHECK_ROWS)) return signature;
  } catch {
    // Zeros may be no valid input at all; then one row of them fails as well, and nothing is proven.
    if (!runs(session, signature, variant)) return signature;
  }
  return { ...signature, batchAxis: 'none' };
}

function runs(session: ModelSession, signature: Signature, variant: VariantSpec): boolean {
  try {
    runOnce(session, signature, { rows: 1, variant });
    return true;
  } catch {
    return false;
  }
}

function measureProfile(
  session: ModelSession,
  signature: Signature,
  { order, variant, ports }: { order: LoadOrder; variant: VariantSpec; ports: LoadPorts },
): CostProfile {
  const { maxSize } = order.spec.batching;
  const limit = maxSize === 'auto' ? MAX_PROFILE_ROWS : Math.min(maxSize, MAX_PROFILE_ROWS);
  const sizes = signature.batchAxis === 'dynamic' ? profileSizes(Math.max(1, limit)) : [1];
  const feeds = new Map<number, ReturnType<typeof feedsFor>>();
  const run = (rows: number) => {
    let inputs = feeds.get(rows);
    if (!inputs) {
      inputs = feedsFor(signature, rows, variant);
      feeds.set(rows, inputs);
    }
    session.run(inputs);
  };
  const now = () => performance.now();
  // Several threads, or a device, work beside this one: there the time that passes is what counts.
  const alone = order.threads === 1 && session.device === 'cpu';
  const effort = alone ? () => ports.processorMs() : now;
  try {
    return selfProfile({ sizes, budgetMs: order.profileBudgetMs, now, effort, run });
  } catch {
    // The made-up input is refused, real ones may not be: their batches will tell what they cost.
    return { fixedMs: 0, perRowMs: 0, points: [], bestRows: 1 };
  }
}

/** Runs each batch size once that will be used, so that no request waits for memory to be allocated. */
function warm(
  session: ModelSession,
  signature: Signature,
  { variant, profile }: { variant: VariantSpec; profile: CostProfile },
): void {
  const sizes = signature.batchAxis === 'dynamic' ? profileSizes(profile.bestRows) : [1];
  try {
    for (const rows of sizes) runOnce(session, signature, { rows, variant });
  } catch {
    // As in the profile: zeros may be no valid input.
  }
}

function runOnce(
  session: ModelSession,
  signature: Signature,
  { rows, variant }: { rows: number; variant: VariantSpec },
): ReturnType<ModelSession['run']> {
  return session.run(feedsFor(signature, rows, variant));
}

function feedsFor(signature: Signature, rows: number, variant: VariantSpec): ReturnType<InputBatch['feeds']> {
  return new InputBatch(signature).feeds([warmupInputs(signature, rows, variant.image)], rows);
}
