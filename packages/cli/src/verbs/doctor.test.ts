import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { expect, it } from 'vitest';
import type { Finding } from '../doctor/finding.ts';
import { fewFilesNote, nodeVersion, openFiles } from '../doctor/machine.ts';
import { gimbal } from '../testing/command-line.ts';

const FREE_PORTS = { GIMBAL_HTTP_PORT: '0', GIMBAL_ADMIN_PORT: '0' };

it('doctor finds runtime, pictures, transport and limits of this machine', async () => {
  const { exitCode, stdout } = await gimbal(['doctor', '--json'], { environment: FREE_PORTS });
  const { ok, findings } = JSON.parse(stdout) as { ok: boolean; findings: Finding[] };
  const byName = new Map(findings.map((finding) => [finding.name, finding]));
  expect({ exitCode, ok }).toEqual({ exitCode: 0, ok: true });
  expect(byName.get('onnxruntime')).toMatchObject({
    status: 'ok',
    found: expect.stringContaining('runs on cpu'),
  });
  expect(byName.get('sharp')).toMatchObject({ status: 'ok', found: expect.stringContaining('jpeg') });
  for (const name of [
    'node',
    'transport',
    'cores',
    'memory',
    'gpu',
    'descriptors',
    'watching',
    'http.port',
    'admin.port',
  ]) {
    expect(byName.has(name), name).toBe(true);
  }
  for (const { status, fix } of findings) expect(status === 'ok' || (fix ?? '') !== '').toBe(true);
});

it('a port that is taken fails, with what to do, and the exit code is 1', async () => {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
  const { port } = taken.address() as AddressInfo;
  const environment = { ...FREE_PORTS, GIMBAL_HTTP_PORT: String(port) };
  const { exitCode, stdout } = await gimbal(['doctor'], { environment });
  taken.close();
  expect(exitCode).toBe(1);
  expect(stdout).toMatch(
    new RegExp(`fail +http\\.port +127\\.0\\.0\\.1:${port} can't be listened on \\(EADDRINUSE\\)`),
  );
  expect(stdout).toContain('fix: stop what listens there');
});

it('an old Node fails, an untested one is remarked', () => {
  expect(nodeVersion('20.11.0').status).toBe('fail');
  expect(nodeVersion('22.17.9').status).toBe('fail');
  expect(nodeVersion('22.18.0').status).toBe('ok');
  expect(nodeVersion('27.0.0').status).toBe('warn');
});

it('too few descriptors for the configured connections are remarked', () => {
  const limits = (soft: number): string =>
    `Max open files            ${soft}                 524288               files\n`;
  expect(openFiles(1_000, limits(1_256)).status).toBe('ok');
  expect(openFiles(1_000, limits(1_255))).toEqual({
    name: 'descriptors',
    status: 'warn',
    found: '1255 open files allowed',
    fix: 'ulimit -n 1256, or limits.maxConnections: 999',
  });
});

it('fewer than 1,024 descriptors are remarked whatever is configured', () => {
  const limits = 'Max open files            1023                 4096                 files\n';
  expect(openFiles(1, limits)).toMatchObject({
    status: 'warn',
    found: expect.stringContaining('too few for a server'),
    fix: 'ulimit -n 1024',
  });
  expect(openFiles(1, limits.replace('1023', '1024')).status).toBe('ok');
  expect(fewFilesNote(limits)).toMatch(/^1023 open files allowed: .+; ulimit -n 1024$/);
  expect(fewFilesNote(limits.replace('1023', '1024'))).toBeUndefined();
  expect(openFiles(1, 'nothing of use')).toMatchObject({ status: 'ok' });
});
