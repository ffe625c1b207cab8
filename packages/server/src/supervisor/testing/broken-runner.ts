import { existsSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { PROTOCOL, readHostMessage } from '../../transport/control-message.ts';
import { Doorbell } from '../../transport/doorbell.ts';
import { batchIdOf } from '../../transport/report-frame.ts';

/** A runner's program that misbehaves as the name of its model says; for tests of the host. */
const socket = new Socket({ fd: 3, readable: true, writable: true });
let misbehaviour = '';

const doorbell: Doorbell = new Doorbell(socket, {
  onFrame: (kind, body) => {
    if (kind === 'run') onRun(body);
    else onMessage(body);
  },
  onMalformed: () => process.exit(1),
  onClosed: () => process.exit(0),
});

function onMessage(body: Uint8Array): void {
  const message = readHostMessage(body);
  if (message.kind === 'ping') doorbell.control({ kind: 'pong', id: message.id, residentBytes: 1 });
  if (message.kind === 'stop' && misbehaviour !== 'ignores-stop') process.exit(0);
  if (message.kind !== 'load') return;
  misbehaviour = message.spec.model;
  if (misbehaviour === 'never-loads') return;
  if (misbehaviour === 'crashes-at-load') process.exit(3);
  if (misbehaviour === 'crashes-until-fixed' && !existsSync(join(message.spec.folder, 'fixed')))
    process.exit(3);
  if (misbehaviour === 'ready-without-signature') doorbell.control({ kind: 'ready', device: 'cpu' });
  else sayReady(message.spec.signature);
  if (misbehaviour === 'floods-its-log') process.stderr.write('a line of the log\n'.repeat(5000));
}

function sayReady(signature: object): void {
  const profile = { fixedMs: 1, perRowMs: 1, points: [], bestRows: 1 };
  doorbell.control({ kind: 'ready', signature, profile, device: 'cpu', loadMs: 1, residentBytes: 1 });
}

function onRun(body: Uint8Array): void {
  switch (misbehaviour) {
    case 'sends-noise':
      socket.write(Buffer.from('HTTP/1.1 200 OK\r\n\r\n'));
      break;
    case 'sends-half-a-report':
      doorbell.begin('report').f64(batchIdOf(body));
      doorbell.send();
      break;
    case 'reports-another-batch':
      doorbell.begin('report').f64(batchIdOf(body) + 1);
      doorbell.send();
      break;
    case 'sends-a-run':
      doorbell.begin('run');
      doorbell.send();
      break;
    case 'aborts-for-memory':
      process.stderr.write("terminate called after throwing an instance of 'std::bad_alloc'\n", () =>
        process.exit(134),
      );
      break;
    case 'closes-its-doorbell':
      socket.removeAllListeners('close').destroy();
      setInterval(() => {}, 1000);
      break;
    default:
      break;
  }
}

doorbell.control({ kind: 'hello', protocol: PROTOCOL });
