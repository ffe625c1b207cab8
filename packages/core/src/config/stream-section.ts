import { DEFAULT_STREAM_LIMITS } from '../contract/stream.ts';
import { field, section } from './field.ts';
import { byteSize, duration, integer } from './leaf.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
const GIB = 1024 * MIB;
const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;

/** What one stream may cost. */
export const streamSection = section('Answers that come in pieces, of models that stream.', {
  maxDurationMs: field(duration({ minMs: SECOND_MS, maxMs: 24 * HOUR_MS, unit: 'in-name' }), {
    default: DEFAULT_STREAM_LIMITS.maxDurationMs,
    description: 'From the first piece of a stream to its last; then it ends with STREAM_LIMIT.',
    reason: 'A stream has a runner to itself: a slow reader must not keep it for ever.',
  }),
  maxBytes: field(byteSize({ min: 1 * KIB, max: 1024 * GIB }), {
    default: DEFAULT_STREAM_LIMITS.maxBytes,
    description: 'Bytes of all pieces of one stream; beyond it ends with STREAM_LIMIT.',
    reason: 'Far more than any text, and enough for minutes of sound.',
  }),
  maxPieceBytes: field(byteSize({ min: 1 * KIB, max: 64 * MIB }), {
    default: DEFAULT_STREAM_LIMITS.maxPieceBytes,
    description: 'Bytes of one piece; a larger one ends its stream with OUTPUT_INVALID.',
    reason: 'With `piecesAhead` it bounds what a stream keeps in memory.',
  }),
  piecesAhead: field(integer({ min: 1, max: 1_024 }), {
    default: DEFAULT_STREAM_LIMITS.piecesAhead,
    description: 'Pieces that may be on their way to a reader; the model waits when none is taken.',
    reason: 'Hides the way between the processes, and lets a slow reader keep no more than 4 MiB.',
  }),
  idleMs: field(duration({ minMs: 100, maxMs: HOUR_MS, unit: 'in-name' }), {
    default: DEFAULT_STREAM_LIMITS.idleMs,
    description:
      'The longest that a model may take for one piece, the first included; then its runner is ended.',
    reason: 'Long prompts take seconds until the first piece; what takes longer hangs.',
  }),
  maxCollectedBytes: field(byteSize({ min: 1 * KIB, max: 1 * GIB }), {
    default: DEFAULT_STREAM_LIMITS.maxCollectedBytes,
    description: 'Bytes of the pieces of a stream that is asked for as one answer.',
    reason: 'They are kept in memory until the last has come.',
  }),
  heartbeatMs: field(duration({ minMs: SECOND_MS, maxMs: HOUR_MS, unit: 'in-name' }), {
    default: 15 * SECOND_MS,
    description: 'After so long without a piece, a comment is sent so that proxies keep the connection.',
    reason: 'Proxies give up after 30 to 60 s of silence.',
  }),
  stallMs: field(duration({ minMs: SECOND_MS, maxMs: HOUR_MS, unit: 'in-name' }), {
    default: 300 * SECOND_MS,
    description:
      'A reader whose connection takes no byte for this long is cut off; of streams, in place of `limits.writeTimeoutMs`.',
    reason:
      'At 1 KB/s the system takes nothing for minutes once its own buffers, megabytes of them, are full.',
  }),
});
