import { readFile } from 'node:fs/promises';
import { GimbalError } from '@gimbal/core';
import { ServerCredentials, type ServerOptions } from '@grpc/grpc-js';

/** The section `grpc` of the configuration; all bounds on what clients may cost. */
export interface GrpcSettings {
  /** Of one request. */
  readonly maxMessageBytes: number;
  readonly maxConnections: number;
  /** Open calls of one connection. */
  readonly maxConcurrentStreams: number;
  /** Requests of one `ModelStreamInfer` that are being answered. */
  readonly maxStreamInFlight: number;
  /** Memory for requests that are arriving, over all connections. */
  readonly maxCollectedBytes: number;
  /** An idle connection is asked whether it lives after this long. */
  readonly keepAliveMs: number;
  /** And cut off when it has not answered for this long. */
  readonly keepAliveTimeoutMs: number;
  /** Pings of a connection without calls may not come faster. */
  readonly minPingIntervalMs: number;
  /** 0 for no limit. */
  readonly maxConnectionAgeMs: number;
  readonly tls: TlsFiles;
}

/** PEM files; without a certificate the port is not encrypted, with `clientCa` clients must have a certificate too. */
export interface TlsFiles {
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  readonly clientCa?: string | undefined;
}

/** What of the settings the gRPC library looks after. */
export function libraryOptions(settings: GrpcSettings): ServerOptions {
  return {
    'grpc.max_receive_message_length': settings.maxMessageBytes,
    // Outputs are bounded by the arena.
    'grpc.max_send_message_length': -1,
    'grpc.max_concurrent_streams': settings.maxConcurrentStreams,
    'grpc.keepalive_time_ms': settings.keepAliveMs,
    'grpc.keepalive_timeout_ms': settings.keepAliveTimeoutMs,
    ...(settings.maxConnectionAgeMs > 0 ? { 'grpc.max_connection_age_ms': settings.maxConnectionAgeMs } : {}),
    // Its bookkeeping costs time on every message and nobody reads it.
    'grpc.enable_channelz': 0,
  };
}

/** Reads the files. Throws INTERNAL, without their paths, when they can't be read. */
export async function serverCredentials({ cert, key, clientCa }: TlsFiles): Promise<ServerCredentials> {
  if (cert === undefined || key === undefined) return ServerCredentials.createInsecure();
  const [certificate, privateKey, authority] = await Promise.all([
    readPem('cert', cert),
    readPem('key', key),
    clientCa === undefined ? undefined : readPem('clientCa', clientCa),
  ]);
  try {
    return ServerCredentials.createSsl(
      authority ?? null,
      [{ cert_chain: certificate, private_key: privateKey }],
      authority !== undefined,
    );
  } catch (cause) {
    throw new GimbalError('INTERNAL', 'Cannot use grpc.tls: expected PEM files that belong together', {
      cause,
    });
  }
}

async function readPem(name: string, path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (cause) {
    throw new GimbalError('INTERNAL', `Cannot read the file of grpc.tls.${name}, expected PEM`, { cause });
  }
}
