import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { credentials, status } from '@grpc/grpc-js';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { anAddSubModel } from '../testing/fake-model.ts';
import { GrpcBench } from './testing/grpc-bench.ts';

const hasOpenssl = spawnSync('openssl', ['version']).status === 0;

let folder: string;
let bench: GrpcBench | undefined;

function file(name: string): string {
  return join(folder, name);
}

function openssl(...args: string[]): void {
  execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
}

/** A key, and a certificate that the authority vouches for. */
function certify(name: string): void {
  writeFileSync(file(`${name}.cnf`), 'subjectAltName=DNS:localhost,IP:127.0.0.1\n');
  openssl(
    'req',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-keyout',
    `${name}.key`,
    '-out',
    `${name}.csr`,
    '-subj',
    `/CN=${name}`,
  );
  const by = [
    '-CA',
    'ca.pem',
    '-CAkey',
    'ca.key',
    '-CAcreateserial',
    '-days',
    '2',
    '-extfile',
    `${name}.cnf`,
  ];
  openssl('x509', '-req', '-in', `${name}.csr`, '-out', `${name}.pem`, ...by);
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gimbal-tls-'));
  if (!hasOpenssl) return;
  openssl(
    'req',
    '-x509',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-keyout',
    'ca.key',
    '-out',
    'ca.pem',
    '-days',
    '2',
    '-subj',
    '/CN=ca',
  );
  certify('server');
  certify('client');
});

afterEach(async () => {
  await bench?.stop();
  bench = undefined;
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function aBench(tls: { clientCa?: string } = {}): Promise<GrpcBench> {
  bench = new GrpcBench([anAddSubModel()], {
    tls: { cert: file('server.pem'), key: file('server.key'), ...tls },
  });
  return bench.start();
}

describe.runIf(hasOpenssl)('with certificates', () => {
  it('an encrypted client is answered and a plain one is not', async () => {
    const { client, ask } = methodsOf(await aBench());
    const encrypted = client(credentials.createSsl(readFileSync(file('ca.pem'))));
    expect((await ask(encrypted)).message).toEqual({ live: true });
    expect((await ask(client(credentials.createInsecure()))).error?.code).toBe(status.UNAVAILABLE);
  });

  it('with an authority for clients, only those with its certificate are answered', async () => {
    const { client, ask } = methodsOf(await aBench({ clientCa: file('ca.pem') }));
    const ca = readFileSync(file('ca.pem'));
    const known = credentials.createSsl(
      ca,
      readFileSync(file('client.key')),
      readFileSync(file('client.pem')),
    );
    expect((await ask(client(known))).message).toEqual({ live: true });
    expect((await ask(client(credentials.createSsl(ca)))).error?.code).toBe(status.UNAVAILABLE);
  });

  it('a file that can’t be read is named by its field, never by its path', async () => {
    bench = new GrpcBench([anAddSubModel()], { tls: { cert: file('none.pem'), key: file('server.key') } });
    const error = await bench.start().catch((thrown: Error) => thrown);
    expect(String(error)).toContain('grpc.tls.cert');
    expect(String(error)).not.toContain(folder);
  });
});

it.skipIf(hasOpenssl)('certificates are not tested: there is no openssl to make them', () => {});

function methodsOf(from: GrpcBench) {
  return {
    client: from.client.bind(from),
    ask: (client: ReturnType<GrpcBench['client']>) => from.ask('ServerLive', {}, { client }),
  };
}
