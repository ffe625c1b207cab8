import type { Span } from '@gimbal/core';

/**
 * Memory of one version for inputs and outputs of its requests. `shared`: a memfd mapped by the host and by all the
 * version's runners, so that tensors travel without a copy. `heap`: ordinary memory of the host, where no shared memory
 * is to be had; payloads then travel inside the frames.
 */
export interface Arena {
  readonly kind: 'shared' | 'heap';
  readonly capacity: number;
  /** The whole region. */
  readonly bytes: Uint8Array;
  /** File descriptor to hand to runners; undefined for `heap`. */
  readonly fd: number | undefined;
  /** Bytes now allocated. */
  readonly used: number;
  /** Spans start at multiples of 64 (a cache line; every datatype's alignment). Undefined when there is no room. */
  allocate(byteLength: number): Span | undefined;
  free(span: Span): void;
  /** Unmaps the region. All spans must have been freed; views must not be touched afterwards. */
  close(): void;
}
