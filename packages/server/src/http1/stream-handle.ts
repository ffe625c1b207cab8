import { Socket, type SocketConstructorOpts } from 'node:net';

/**
 * What is used of Node's own handle of a socket, which has no documentation. It has been the same since Node 12, every
 * use has a fallback, and a test fails when a Node changes it. It is worth a third of the cost of a small request: a
 * plain accepted socket allocates 64 KiB for every read.
 */
interface StreamHandle {
  useUserBuffer?: unknown;
  writeQueueSize?: number;
  /** File descriptor; not there, or below 0, where the system has none. */
  fd?: number;
}

/** Told of bytes in a buffer that is reused after the call. */
export interface ByteReceiver {
  received(bytes: Buffer, length: number): void;
}

/** A socket that is not read yet. */
export interface ReadySocket {
  readonly socket: Socket;
  /** Starts reading. */
  deliverTo(receiver: ByteReceiver): void;
}

/**
 * A socket that reads into `buffer`, made of one that was accepted with `pauseOnConnect`; `onread` is documented only for
 * sockets that connect. Without the handle, the accepted socket itself, to be read by `data` events.
 */
export function socketReadingInto(buffer: Buffer, accepted: Socket): ReadySocket {
  const handle = handleOf(accepted);
  if (typeof handle?.useUserBuffer !== 'function') return plainSocket(accepted);
  // The accepted object gives its handle away and is forgotten.
  (accepted as unknown as { _handle: null })._handle = null;
  let receiver: ByteReceiver | undefined;
  const options = {
    handle,
    allowHalfOpen: true,
    onread: {
      buffer,
      callback: (length: number) => {
        receiver?.received(buffer, length);
        return true;
      },
    },
  };
  const socket = new Socket(options as unknown as SocketConstructorOpts);
  return {
    socket,
    deliverTo: (given) => {
      receiver = given;
      socket.resume();
    },
  };
}

/** Reads by events, with a buffer of its own for each read. */
export function plainSocket(socket: Socket): ReadySocket {
  return {
    socket,
    deliverTo: (receiver) => {
      socket.on('data', (bytes: Buffer) => receiver.received(bytes, bytes.length));
      socket.resume();
    },
  };
}

/** Bytes that the kernel has not taken yet. It sinks with every byte where the handle tells, else with every write. */
export function unsentBytes(socket: Socket): number {
  const queued = socket.writableLength;
  return queued === 0 ? 0 : (handleOf(socket)?.writeQueueSize ?? 0) + queued;
}

/** The descriptor of a socket, where the system has them. Systems give the lowest free one: it tells how many are open. */
export function descriptorOf(socket: Socket): number | undefined {
  const fd = handleOf(socket)?.fd;
  return fd !== undefined && fd >= 0 ? fd : undefined;
}

function handleOf(socket: Socket): StreamHandle | null | undefined {
  return (socket as unknown as { _handle?: StreamHandle | null })._handle;
}
