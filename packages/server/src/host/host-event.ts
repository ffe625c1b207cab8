/** What the host tells its caller while it runs. With `--json` each becomes one line on stdout. */
export type HostEvent =
  /** Required models can answer and the ports are open. */
  | {
      readonly event: 'ready';
      readonly http: string;
      /** `host:port` */
      readonly grpc: string;
      readonly admin: string;
      readonly pid: number;
    }
  /** A version changed its state; `reason` says why it is unavailable. */
  | {
      readonly event: 'model';
      readonly model: string;
      readonly version: string;
      readonly state: 'loading' | 'ready' | 'unavailable' | 'unloaded';
      readonly reason?: string;
    }
  /** The first load has ended and not one version can be served. */
  | { readonly event: 'unusable'; readonly reason: string }
  | { readonly event: 'draining' }
  | { readonly event: 'stopped' };
