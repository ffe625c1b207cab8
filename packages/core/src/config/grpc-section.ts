import { formatDurationMs } from './duration.ts';
import { field, optionalField, section } from './field.ts';
import { byteSize, duration, integer, text } from './leaf.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
const GIB = 1024 * MIB;
const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** gRPC's own bound on a frame. */
const MAX_MESSAGE_BYTES = 2 * GIB - 1;

/** `grpc` of gimbal.yaml. */
export const grpcSection = section('Inference over gRPC: the Open Inference Protocol V2.', {
  host: field(text('an address or host name to listen on'), {
    default: '127.0.0.1',
    description: 'Address that the gRPC server listens on; `0.0.0.0` or `::` for all.',
    reason: 'A fresh install is reachable from its own machine only.',
  }),
  port: field(integer({ min: 0, max: 65_535 }), {
    default: 8001,
    description: 'Port of the gRPC server; 0 takes any free one.',
    reason: 'The port of Triton and KServe: their clients find it.',
    flag: 'grpc-port',
  }),
  maxMessageBytes: field(byteSize({ min: 1 * KIB, max: MAX_MESSAGE_BYTES }), {
    default: 64 * MIB,
    description: 'Bytes of one request message, after decompression.',
    reason: 'As much as a body over HTTP may have.',
  }),
  maxCollectedBytes: field(byteSize({ min: 1 * MIB, max: 1024 * GIB }), {
    default: 256 * MIB,
    description: 'Memory for messages that are arriving, over all connections; beyond it, UNAVAILABLE.',
    reason: 'Four of the largest messages; without it, clients that never end theirs fill the machine.',
  }),
  maxConnections: field(integer({ min: 1, max: 1_000_000 }), {
    default: 4_096,
    description: 'Open client connections; further ones are closed.',
    reason: 'Each costs about 20 KB; below the usual limit of descriptors.',
  }),
  maxConcurrentStreams: field(integer({ min: 1, max: 1_000_000 }), {
    default: 1_024,
    description: 'Open calls of one connection; its client holds further ones back.',
    reason: 'More than one client can have waiting within a deadline.',
  }),
  maxStreamInFlight: field(integer({ min: 1, max: 10_000 }), {
    default: 64,
    description:
      'Requests of one `ModelStreamInfer` stream that are being answered; the next ones wait unread.',
    reason: 'Several full batches; what waits in the connection costs the server nothing.',
  }),
  keepAliveMs: field(duration({ minMs: SECOND_MS, maxMs: HOUR_MS, unit: 'in-name' }), {
    default: MINUTE_MS,
    description: 'How often a connection is asked whether its client is still there.',
    reason: 'Finds peers that vanished without a word before balancers forget the connection.',
  }),
  keepAliveTimeoutMs: field(duration({ minMs: 100, maxMs: HOUR_MS, unit: 'in-name' }), {
    default: 20 * SECOND_MS,
    description: 'Time for the answer to that question; then the connection is cut off.',
    reason: "gRPC's own default.",
  }),
  minPingIntervalMs: field(duration({ minMs: 0, maxMs: HOUR_MS, unit: 'in-name' }), {
    default: 10 * SECOND_MS,
    description:
      'Shortest time between the pings of a client that has no calls; who pings faster three times over is sent away.',
    reason: 'Keep-alive of real clients is 20 s and more.',
  }),
  maxConnectionAgeMs: field(duration({ minMs: 0, maxMs: 24 * HOUR_MS, unit: 'in-name' }), {
    default: 0,
    description: 'Age at which a client is asked to connect anew; its calls finish. 0 for never.',
    reason: 'Needed where balancers count connections: then new replicas get their share.',
  }),
  tls: section(
    'Certificates of the gRPC port: PEM files, relative to the folder where the server was started.',
    {
      cert: optionalField(text('a file name'), {
        description: 'Certificate chain of the server. Left out: the port is not encrypted.',
      }),
      key: optionalField(text('a file name'), { description: 'Private key of the certificate.' }),
      clientCa: optionalField(text('a file name'), {
        description: 'Certificates that vouch for clients: with it, clients must present one (mTLS).',
      }),
    },
  ),
});

interface GrpcFields {
  readonly maxMessageBytes: number;
  readonly maxCollectedBytes: number;
  readonly keepAliveMs: number;
  readonly keepAliveTimeoutMs: number;
  readonly tls: {
    readonly cert?: string | undefined;
    readonly key?: string | undefined;
    readonly clientCa?: string | undefined;
  };
}

/** Relations between fields of `grpc`; each message names both. */
export function wrongGrpc(
  grpc: GrpcFields,
): { readonly path: readonly string[]; readonly expected: string; readonly got: string }[] {
  const { tls } = grpc;
  const broken = [];
  if (grpc.maxCollectedBytes < grpc.maxMessageBytes) {
    broken.push({
      path: ['grpc', 'maxCollectedBytes'],
      expected: `at least grpc.maxMessageBytes (${grpc.maxMessageBytes} bytes), so that the largest message has room`,
      got: `${grpc.maxCollectedBytes} bytes`,
    });
  }
  if (grpc.keepAliveTimeoutMs > grpc.keepAliveMs) {
    broken.push({
      path: ['grpc', 'keepAliveTimeoutMs'],
      expected: `at most grpc.keepAliveMs (${formatDurationMs(grpc.keepAliveMs)})`,
      got: formatDurationMs(grpc.keepAliveTimeoutMs),
    });
  }
  if ((tls.cert === undefined) !== (tls.key === undefined)) {
    const missing = tls.cert === undefined ? 'cert' : 'key';
    broken.push({
      path: ['grpc', 'tls', missing],
      expected: `a file, since grpc.tls.${missing === 'cert' ? 'key' : 'cert'} is given`,
      got: 'nothing',
    });
  }
  if (tls.clientCa !== undefined && tls.cert === undefined) {
    broken.push({
      path: ['grpc', 'tls', 'clientCa'],
      expected: 'grpc.tls.cert and grpc.tls.key beside it',
      got: 'neither',
    });
  }
  return broken;
}
