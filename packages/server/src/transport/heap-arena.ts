import type { Span } from '@gimbal/core';
import type { Arena } from './arena.ts';
import { BlockAllocator } from './block-allocator.ts';
import { detach } from './detach.ts';

/** An arena in the host's own memory, where none can be shared: payloads travel inside the frames. */
export class HeapArena implements Arena {
  readonly kind = 'heap';
  readonly capacity: number;
  readonly bytes: Uint8Array;
  readonly fd = undefined;
  readonly #allocator: BlockAllocator;

  constructor(capacity: number) {
    this.capacity = capacity;
    // Pages that are never written cost no memory: the operating system hands them out when they are touched.
    this.bytes = new Uint8Array(capacity);
    this.#allocator = new BlockAllocator(capacity);
  }

  get used(): number {
    return this.#allocator.used;
  }

  allocate(byteLength: number): Span | undefined {
    return this.#allocator.allocate(byteLength);
  }

  free(span: Span): void {
    this.#allocator.free(span);
  }

  close(): void {
    detach(this.bytes.buffer);
  }
}
