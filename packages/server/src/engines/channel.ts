import type { BatchAxis, Signature, TensorSpec } from '@gimbal/core';
import type { TensorView } from '../transport/tensor-rows.ts';

/** One try at one endpoint. */
export interface Attempt {
  /** What may be used of the deadline, in ms; told to the server. */
  readonly timeoutMs: number;
  /** Fires when the answer is no longer wanted, or late: the call must be called off on the wire, too. */
  readonly signal: AbortSignal;
}

/** What a server says of its model. */
export interface RemoteDescription {
  readonly inputs: readonly TensorSpec[];
  readonly outputs: readonly TensorSpec[];
  /** As far as the server says it. */
  readonly batchAxis: BatchAxis;
}

/** One run of the model: tensors index-aligned with the signature's inputs, in memory of their own. */
export interface RemoteRequest {
  readonly signature: Signature;
  readonly tensors: readonly TensorView[];
  readonly rows: number;
}

/** Outputs in any order, by their names; views of memory that nobody else writes. */
export type RemoteAnswer = readonly RemoteOutput[];

export interface RemoteOutput {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  /** Little endian, BYTES with their lengths. */
  readonly bytes: Uint8Array;
}

/** The way to one endpoint in its protocol. All methods reject with a `PeerFailure`. */
export interface RemoteChannel {
  /** The model's tensors, as the server tells them; undefined when the protocol has no way to ask. */
  describe(attempt: Attempt): Promise<RemoteDescription | undefined>;
  /** Resolves when server and model are ready. */
  probe(attempt: Attempt): Promise<void>;
  run(request: RemoteRequest, attempt: Attempt): Promise<RemoteAnswer>;
  /** Ends all connections. */
  close(): void;
}

/** Makes the channel of an endpoint. */
export type ChannelFactory = (address: string) => RemoteChannel;
