import { connect, createServer, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { plainSocket, socketReadingInto, unsentBytes } from './stream-handle.ts';
import { until } from './testing/eventually.ts';

const cleanups: (() => void)[] = [];

afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

/** A paused accepted socket and its client. */
function aPair(): Promise<{ accepted: Socket; client: Socket }> {
  return new Promise((resolve) => {
    const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (accepted) => {
      cleanups.push(() => accepted.destroy());
      resolve({ accepted, client });
    });
    let client: Socket;
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      client = connect(typeof address === 'object' && address ? address.port : 0, '127.0.0.1');
      cleanups.push(() => {
        client.destroy();
        server.close();
      });
    });
  });
}

describe('socketReadingInto', () => {
  it('reads into the given buffer: the handle of this Node is the one that is expected', async () => {
    const { accepted, client } = await aPair();
    const buffer = Buffer.alloc(100_000);
    const ready = socketReadingInto(buffer, accepted);
    expect(ready.socket).not.toBe(accepted);
    let text = '';
    ready.deliverTo({
      received(bytes, length) {
        expect(bytes).toBe(buffer);
        text += bytes.toString('latin1', 0, length);
      },
    });
    let hasEnded = false;
    ready.socket.on('end', () => {
      hasEnded = true;
    });
    client.write('hello');
    await until(() => text === 'hello');
    ready.socket.pause();
    client.write(' world');
    ready.socket.resume();
    await until(() => text === 'hello world');
    client.end();
    await until(() => hasEnded);
    ready.socket.destroy();
  });
});

describe('plainSocket', () => {
  it('delivers the same without the handle', async () => {
    const { accepted, client } = await aPair();
    const ready = plainSocket(accepted);
    expect(ready.socket).toBe(accepted);
    let text = '';
    ready.deliverTo({
      received(bytes, length) {
        text += bytes.toString('latin1', 0, length);
      },
    });
    client.write('hello');
    await until(() => text === 'hello');
  });
});

describe('unsentBytes', () => {
  it('sinks while the other side takes a part of one large write', async () => {
    const { accepted, client } = await aPair();
    client.pause();
    accepted.write(Buffer.alloc(30_000_000));
    await until(() => unsentBytes(accepted) > 0);
    const before = unsentBytes(accepted);
    expect(before).toBeLessThan(60_000_000);
    let taken = 0;
    client.on('data', (bytes) => {
      taken += bytes.length;
    });
    client.resume();
    await until(() => taken > 10_000_000);
    client.pause();
    expect(unsentBytes(accepted)).toBeLessThan(before);
    client.resume();
    await until(() => unsentBytes(accepted) === 0);
  });
});
