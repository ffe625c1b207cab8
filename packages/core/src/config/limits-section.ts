import { field, section } from './field.ts';
import { byteSize, duration, integer } from './leaf.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
const GIB = 1024 * MIB;
const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;

/** What clients may cost. Everything that a client can make grow has its bound here. */
export const limitsSection = section('What clients may cost; every bound on their side.', {
  maxHeadBytes: field(byteSize({ min: 1 * KIB, max: 1 * MIB }), {
    default: 16 * KIB,
    description: 'Bytes of a request line with all its headers.',
    reason: 'Node and NGINX allow 16 and 32 KiB; real clients stay below 8.',
  }),
  maxHeaders: field(integer({ min: 8, max: 1_000 }), {
    default: 100,
    description: 'Header lines of one request.',
    reason: 'Real clients send fewer than 40 behind several proxies.',
  }),
  headTimeoutMs: field(duration({ minMs: 100, maxMs: HOUR_MS, unit: 'in-name' }), {
    default: 10 * SECOND_MS,
    description: 'Time for a whole request head, from its first byte.',
    reason: 'Slow-loris clients are cut off; a head is one packet for honest ones.',
  }),
  bodyTimeoutMs: field(duration({ minMs: 100, maxMs: HOUR_MS, unit: 'in-name' }), {
    default: 30 * SECOND_MS,
    description: 'Time for a whole body, to which its length at `minBodyBytesPerSecond` is added.',
    reason: 'Enough for a phone on a bad line to begin; large bodies earn more by their length.',
  }),
  minBodyBytesPerSecond: field(byteSize({ min: 1, max: GIB }), {
    default: 64 * KIB,
    description: 'Slowest rate at which a large body may arrive.',
    reason: 'A 3G uplink makes about 100 KiB/s.',
  }),
  keepAliveTimeoutMs: field(duration({ minMs: SECOND_MS, maxMs: HOUR_MS, unit: 'in-name' }), {
    default: 75 * SECOND_MS,
    description: 'How long an idle connection is kept.',
    reason: 'Longer than the 60 s of common load balancers, so that they close first and never race a close.',
  }),
  maxConnections: field(integer({ min: 1, max: 1_000_000 }), {
    default: 4_096,
    description: 'Open client connections; further ones are refused with 503 and closed.',
    reason: 'Each costs about 20 KB; below the usual limit of descriptors.',
  }),
  maxRequestsPerConnection: field(integer({ min: 1, max: 1_000_000_000 }), {
    default: 1_000_000,
    description: 'Requests on one connection before it is closed after an answer.',
    reason: 'Lets long-lived clients spread over new replicas in the end, and costs nothing.',
  }),
  writeTimeoutMs: field(duration({ minMs: 100, maxMs: HOUR_MS, unit: 'in-name' }), {
    default: 30 * SECOND_MS,
    description: 'A client that takes no byte of its answer for this long is cut off.',
    reason: 'An unread answer holds shared memory that other requests need.',
  }),
  maxBodyBytes: field(byteSize({ min: 1 * KIB, max: 2 * GIB }), {
    default: 64 * MIB,
    description: 'Bytes of one body, after decompression.',
    reason: 'The limit of Triton (64 MiB): clients of the V2 protocol know it.',
  }),
  maxCollectedBytes: field(byteSize({ min: 1 * MIB, max: 1024 * GIB }), {
    default: 256 * MIB,
    description:
      'Memory for bodies that are being collected before they are read, over all connections; beyond it, 503. Pictures, raw tensors and the binary tensors of V2 go to the arena instead.',
    reason: 'Four of the largest bodies; without it, clients that never end their bodies fill the machine.',
  }),
  maxInputs: field(integer({ min: 1, max: 100_000 }), {
    default: 256,
    description: 'Inputs in one native request (`inputs`, files of a form, `items`).',
    reason: 'Several full batches of every shipped model.',
  }),
  maxJsonDepth: field(integer({ min: 4, max: 1_000 }), {
    default: 100,
    description: 'Nesting of a JSON body.',
    reason: 'The limit of Triton; tensors have far fewer axes.',
  }),
  maxQueueMs: field(duration({ minMs: 1, maxMs: HOUR_MS, unit: 'in-name' }), {
    default: 5 * SECOND_MS,
    description: 'Longest time that a request may wait for a runner; beyond it is refused with 503.',
    reason: 'Who waits longer has usually gone or asked again, and makes the overload worse.',
  }),
  arenaBytes: field(byteSize({ min: 1 * MIB, max: 1024 * GIB }), {
    default: 256 * MIB,
    description:
      'Shared memory of each model version for inputs and outputs; it also bounds the queue in bytes.',
    reason: 'Four of the largest bodies. Pages that were never used cost nothing.',
  }),
});
