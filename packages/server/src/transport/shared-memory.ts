import { closeSync } from 'node:fs';
import { assert } from '@gimbal/core';
import { detach } from './detach.ts';
import { type Libc, openLibc } from './libc.ts';

/** Memory that several processes map. */
export interface SharedMemory {
  readonly fd: number;
  readonly buffer: ArrayBuffer;
  /** Unmaps the region. Every view becomes empty first, so that a stale one reads nothing instead of crashing. */
  unmap(): void;
}

const MFD_CLOEXEC = 1;
const MFD_ALLOW_SEALING = 2;
const F_ADD_SEALS = 1033;
/** No sealing, shrinking or growing: a runner that truncated the file would kill the host by SIGBUS. */
const SEALS = 1 | 2 | 4;
const MAP_FAILED = 0xffff_ffff_ffff_ffffn;

/**
 * Makes a region without a name in any file system. Its descriptor is close-on-exec, so that no other child process
 * inherits it; `spawn` duplicates it for the one child that it is named for. Throws an Error that says what failed.
 */
export function createSharedMemory(byteLength: number): SharedMemory {
  const libc = libcOrThrow();
  const fd = libc.memfdCreate('gimbal-arena', MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) throw new Error(`memfd_create failed with errno ${libc.errno()}`);
  try {
    if (libc.ftruncate(fd, byteLength) !== 0) {
      throw new Error(`ftruncate to ${byteLength} bytes failed with errno ${libc.errno()}`);
    }
    libc.fcntl(fd, F_ADD_SEALS, SEALS);
    const region = map(libc, fd, byteLength);
    return {
      fd,
      buffer: region.buffer,
      unmap: () => {
        region.unmap();
        closeSync(fd);
      },
    };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/** Maps the region behind an inherited descriptor, which stays open. */
export function mapSharedMemory(fd: number, byteLength: number): SharedMemory {
  return { fd, ...map(libcOrThrow(), fd, byteLength) };
}

function libcOrThrow(): Libc {
  const libc = openLibc();
  if (typeof libc === 'string') throw new Error(libc);
  return libc;
}

function map(libc: Libc, fd: number, byteLength: number): { buffer: ArrayBuffer; unmap(): void } {
  const address = libc.mmap(fd, byteLength);
  if (address === MAP_FAILED || address === 0n) {
    throw new Error(`mmap of ${byteLength} bytes failed with errno ${libc.errno()}`);
  }
  const buffer = libc.view(address, byteLength);
  return {
    buffer,
    unmap: () => {
      detach(buffer);
      assert(libc.munmap(address, byteLength) === 0, 'a mapped region can be unmapped');
    },
  };
}
