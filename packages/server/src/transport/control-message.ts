import {
  type CostProfile,
  ERROR_CODES,
  type ErrorCode,
  type FaultOrder,
  type Signature,
  type VersionSpec,
} from '@gimbal/core';
import { MalformedFrame } from './frame-cursor.ts';

/** Raised with every change of the frames: a runner of another build must not be talked to. */
export const PROTOCOL = 3;

/** Largest control message in bytes: a version with 100,000 labels fits. */
const MAX_CONTROL_BYTES = 16 * 1024 * 1024;

/** Says what a runner is to be; sent once, after its `hello`. */
export interface LoadOrder {
  readonly kind: 'load';
  readonly spec: VersionSpec;
  /** Index of the variant in the spec. */
  readonly variant: number;
  readonly threads: number;
  /** Tried in order, such as `['cuda', 'cpu']`. */
  readonly providers: readonly string[];
  /** Size of the arena whose descriptor was inherited; undefined where memory is not shared. */
  readonly arenaBytes: number | undefined;
  /** What a runner of this variant has measured before; undefined: measure now. */
  readonly profile: CostProfile | undefined;
  /** Time box of the self-profile. */
  readonly profileBudgetMs: number;
}

export type HostMessage =
  | LoadOrder
  | { readonly kind: 'ping'; readonly id: number }
  /** Break on purpose from the next batch on; refused by a runner that was started without drills. */
  | { readonly kind: 'fault'; readonly order: FaultOrder }
  | { readonly kind: 'end-fault'; readonly id: number }
  /** Finish the batch at hand and leave. */
  | { readonly kind: 'stop' };

export interface LoadReport {
  readonly kind: 'ready';
  readonly signature: Signature;
  readonly profile: CostProfile;
  readonly device: string;
  readonly loadMs: number;
  readonly residentBytes: number;
}

export type RunnerMessage =
  | { readonly kind: 'hello'; readonly protocol: number }
  | { readonly kind: 'progress'; readonly state: 'loading' | 'warming' }
  | LoadReport
  | { readonly kind: 'failed'; readonly code: ErrorCode; readonly message: string }
  | { readonly kind: 'pong'; readonly id: number; readonly residentBytes: number };

/** Reads what a runner says, which may be broken in any way. Throws MalformedFrame. */
export function readRunnerMessage(body: Uint8Array): RunnerMessage {
  const message = parse(body);
  if (!isRunnerMessage(message)) throw new MalformedFrame('the message has not the members of its kind');
  return message as unknown as RunnerMessage;
}

/** Reads what the host says; it is this program, so that only its form is checked. */
export function readHostMessage(body: Uint8Array): HostMessage {
  return parse(body) as unknown as HostMessage;
}

function parse(body: Uint8Array): Record<string, unknown> {
  if (body.length > MAX_CONTROL_BYTES) throw new MalformedFrame('the message is too long');
  let message: unknown;
  try {
    // Frames are padded with zero bytes, which JSON does not know.
    message = JSON.parse(Buffer.from(body.buffer, body.byteOffset, unpadded(body)).toString('utf8'));
  } catch {
    throw new MalformedFrame('the message is not JSON');
  }
  if (typeof message !== 'object' || message === null) throw new MalformedFrame('the message is no object');
  return message as Record<string, unknown>;
}

function unpadded(body: Uint8Array): number {
  let length = body.length;
  while (length > 0 && body[length - 1] === 0) length -= 1;
  return length;
}

function isRunnerMessage(message: Record<string, unknown>): boolean {
  switch (message.kind) {
    case 'hello':
      return Number.isInteger(message.protocol);
    case 'progress':
      return message.state === 'loading' || message.state === 'warming';
    case 'ready':
      return (
        isSignature(message.signature) &&
        isProfile(message.profile) &&
        typeof message.device === 'string' &&
        isAmount(message.loadMs) &&
        isAmount(message.residentBytes)
      );
    case 'failed':
      return ERROR_CODES.includes(message.code as ErrorCode) && typeof message.message === 'string';
    case 'pong':
      return Number.isInteger(message.id) && isAmount(message.residentBytes);
    default:
      return false;
  }
}

function isAmount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}

function isSignature(value: unknown): boolean {
  const { inputs, outputs, batchAxis } = (value ?? {}) as Record<string, unknown>;
  return Array.isArray(inputs) && Array.isArray(outputs) && (batchAxis === 'dynamic' || batchAxis === 'none');
}

function isProfile(value: unknown): boolean {
  const { fixedMs, perRowMs, points, bestRows } = (value ?? {}) as Record<string, unknown>;
  return (
    isAmount(fixedMs) && isAmount(perRowMs) && Array.isArray(points) && isAmount(bestRows) && bestRows >= 1
  );
}
