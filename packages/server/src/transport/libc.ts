import { createRequire } from 'node:module';
import type * as Koffi from 'koffi';

/** The few calls of the C library that Node lacks. Only on Linux: elsewhere `openLibc` says why not. */
export interface Libc {
  memfdCreate(name: string, flags: number): number;
  ftruncate(fd: number, byteLength: number): number;
  fcntl(fd: number, command: number, argument: number): number;
  mmap(fd: number, byteLength: number): bigint;
  munmap(address: bigint, byteLength: number): number;
  prctl(option: number, argument: number): number;
  /** Two connected Unix stream sockets, close-on-exec and not blocking; undefined when there are none to be had. */
  socketPair(): readonly [number, number] | undefined;
  errno(): number;
  view(address: bigint, byteLength: number): ArrayBuffer;
}

const PROT_READ_WRITE = 3;
const MAP_SHARED = 1;
const AF_UNIX = 1;
const SOCK_STREAM = 1;
const SOCK_NONBLOCK = 0o4000;
const SOCK_CLOEXEC = 0o2000000;

let opened: Libc | string | undefined;

/** The C library, or a sentence that says why it can't be called. Loads koffi (about 40 ms) on first use. */
export function openLibc(): Libc | string {
  opened ??= bindLibc();
  return opened;
}

function bindLibc(): Libc | string {
  if (process.platform !== 'linux') return `memfd_create is a call of Linux, this is ${process.platform}`;
  try {
    // koffi is native code: where it has no binary, requiring it throws, and the socket transport still works.
    const koffi = createRequire(import.meta.url)('koffi') as typeof Koffi;
    const library = koffi.load(null);
    const memfdCreate = library.func('int memfd_create(const char *name, unsigned int flags)');
    const ftruncate = library.func('int ftruncate(int fd, int64_t length)');
    const fcntl = library.func('int fcntl(int fd, int command, ...)');
    const mmap = library.func(
      'void *mmap(void *address, size_t length, int protection, int flags, int fd, int64_t offset)',
    );
    const munmap = library.func('int munmap(void *address, size_t length)');
    const prctl = library.func(
      'int prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)',
    );
    const socketpair = library.func('int socketpair(int domain, int type, int protocol, _Out_ int *pair)');
    return {
      socketPair: () => {
        const pair: [number, number] = [-1, -1];
        const failed = socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) as number;
        return failed === 0 ? pair : undefined;
      },
      memfdCreate: (name, flags) => memfdCreate(name, flags) as number,
      ftruncate: (fd, byteLength) => ftruncate(fd, byteLength) as number,
      fcntl: (fd, command, argument) => fcntl(fd, command, 'int', argument) as number,
      mmap: (fd, byteLength) => mmap(null, byteLength, PROT_READ_WRITE, MAP_SHARED, fd, 0) as bigint,
      munmap: (address, byteLength) => munmap(address, byteLength) as number,
      prctl: (option, argument) => prctl(option, argument, 0, 0, 0) as number,
      errno: () => koffi.errno(),
      view: (address, byteLength) => koffi.view(address, byteLength),
    };
  } catch (error) {
    return `koffi can't be loaded: ${error instanceof Error ? error.message : String(error)}`;
  }
}
