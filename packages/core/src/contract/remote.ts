export const REMOTE_PROTOCOLS = ['v2-rest', 'v2-grpc', 'openai-embeddings', 'openai-chat'] as const;

/** What a remote engine speaks: the Open Inference Protocol V2 over HTTP or gRPC, or a call of an OpenAI-like API. */
export type RemoteProtocol = (typeof REMOTE_PROTOCOLS)[number];

/** A header of every call; its value is written down, or found in an environment variable (secrets are). */
export interface RemoteHeader {
  readonly name: string;
  readonly from:
    | { readonly kind: 'value'; readonly value: string }
    | { readonly kind: 'environment'; readonly variable: string; readonly prefix: string };
}

/** How `https` and `grpcs` endpoints are trusted. Files are absolute paths inside the version's folder. */
export interface RemoteTls {
  readonly ca: string | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
  /** Name that the certificate must have, where it is not the endpoint's own. */
  readonly serverName: string | undefined;
}

/** A variant that someone else's server runs. */
export interface RemoteSpec {
  readonly protocol: RemoteProtocol;
  /** Base addresses, such as `http://triton-1:8000` or `grpc://triton-1:8001`; at least one. */
  readonly endpoints: readonly string[];
  /** The model's name and version there; no version: the one that the server takes for current. */
  readonly model: string;
  readonly version: string | undefined;
  /** How tensors travel over REST; `auto`: as raw bytes where the server says that it reads them. */
  readonly encoding: 'auto' | 'binary' | 'json';
  /** Batches at once at each endpoint; `auto` finds it between 2 and `maxConcurrency`. */
  readonly concurrency: number | 'auto';
  readonly maxConcurrency: number;
  readonly headers: readonly RemoteHeader[];
  readonly tls: RemoteTls | undefined;
  readonly connectTimeoutMs: number;
  /** Longest that one attempt may take; undefined: told by the latencies that were seen. */
  readonly attemptTimeoutMs: number | undefined;
  readonly maxResponseBytes: number;
  readonly probeIntervalMs: number;
  readonly probeTimeoutMs: number;
  /** Attempts of one batch, the first included. */
  readonly attempts: number;
  /** Retries as a share of batches. */
  readonly retryRatio: number;
  /** Hedges as a share of batches; 0: none. */
  readonly hedgeRatio: number;
}
