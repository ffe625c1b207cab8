import { connect, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { duplicateDescriptor } from '../host/duplicate-descriptor.ts';
import { AcceptGate } from './accept-gate.ts';

const canDuplicate = process.platform === 'linux';

async function until(condition: () => boolean): Promise<void> {
  for (let turn = 0; turn < 400 && !condition(); turn += 1) await new Promise((done) => setTimeout(done, 5));
  expect(condition()).toBe(true);
}

function aGate() {
  const accepted: Socket[] = [];
  const gate = new AcceptGate({
    onConnection: (socket) => accepted.push(socket),
    onError: () => {},
    duplicate: duplicateDescriptor,
  });
  return { gate, accepted };
}

describe.runIf(canDuplicate)('AcceptGate', () => {
  it('lets connections wait in the kernel while it is shut, and takes them when it opens', async () => {
    const { gate, accepted } = aGate();
    const { port } = await gate.listen({ host: '127.0.0.1', port: 0 });
    const first = connect(port, '127.0.0.1');
    await until(() => accepted.length === 1);
    gate.shutNow();
    expect(gate.shut).toBe(true);
    const second = connect(port, '127.0.0.1');
    await new Promise((done) => second.once('connect', done));
    second.write('waiting');
    await new Promise((done) => setTimeout(done, 50));
    expect(accepted).toHaveLength(1);
    gate.open();
    await until(() => accepted.length === 2);
    for (const socket of [first, second, ...accepted]) socket.destroy();
    gate.close();
  });

  it('shuts and opens any number of times on the same port', async () => {
    const { gate, accepted } = aGate();
    const { port } = await gate.listen({ host: '127.0.0.1', port: 0 });
    for (let round = 1; round <= 5; round += 1) {
      gate.shutNow();
      gate.shutNow();
      gate.open();
      gate.open();
      const client = connect(port, '127.0.0.1');
      await until(() => accepted.length === round);
      client.destroy();
    }
    for (const socket of accepted) socket.destroy();
    gate.close();
  });

  it('lets go of its port when it is closed while shut', async () => {
    const { gate } = aGate();
    const { port } = await gate.listen({ host: '127.0.0.1', port: 0 });
    gate.shutNow();
    gate.close();
    const again = aGate();
    await expect(again.gate.listen({ host: '127.0.0.1', port })).resolves.toEqual({ port });
    again.gate.close();
  });
});
