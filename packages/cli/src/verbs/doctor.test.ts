import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { expect, it } from 'vitest';
import type { Finding } from '../doctor/finding.ts';
import { nodeVersion, openFiles } from '../doctor/machine.ts';
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
  expect(openFiles(1).status).toBe('ok');
  expect(openFiles(100_000_000)).toMatchObject({ status: 'warn', fix: expect.stringContaining('ulimit -n') });
});
