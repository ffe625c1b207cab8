import type { Span } from '@gimbal/core';
import type { Arena } from './arena.ts';
import { BlockAllocator } from './block-allocator.ts';
import { createSharedMemory, mapSharedMemory, type SharedMemory } from './shared-memory.ts';

/** An arena in memory that runners map too: tensors travel without a copy. Linux only. */
export class SharedArena implements Arena {
  readonly kind = 'shared';
  readonly capacity: number;
  readonly bytes: Uint8Array;
  readonly #memory: SharedMemory;
  readonly #allocator: BlockAllocator;

  /** Throws an Error that says why shared memory is not to be had. */
  constructor(capacity: number) {
    this.#memory = createSharedMemory(capacity);
    this.#allocator = new BlockAllocator(capacity);
    this.capacity = capacity;
    this.bytes = new Uint8Array(this.#memory.buffer);
  }

  get fd(): number {
    return this.#memory.fd;
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
    this.#memory.unmap();
  }
}

/** The runner's side of a shared arena: the host alone allocates. */
export function mapArena(fd: number, capacity: number): Uint8Array {
  return new Uint8Array(mapSharedMemory(fd, capacity).buffer);
}
