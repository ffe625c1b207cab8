import { createServer } from 'node:net';
import type { Configuration } from '@gimbal/core/config';
import { type Finding, fail, ok } from './finding.ts';

/** Whether the ports of the configuration can be listened on now. */
export async function ports(configuration: Configuration): Promise<Finding[]> {
  const { http, admin } = configuration;
  return [
    await listening('http.port', { ...http, flag: '--port' }),
    await listening('admin.port', { ...admin, flag: '--admin-port' }),
  ];
}

async function listening(
  name: string,
  place: { host: string; port: number; flag: string },
): Promise<Finding> {
  const { host, port, flag } = place;
  if (port === 0) return ok(name, 'any free port');
  const shown = `${host}:${port}`;
  const code = await tryListening(host, port);
  if (code === undefined) return ok(name, `${shown} is free`);
  const fixes: Readonly<Record<string, string>> = {
    EADDRINUSE: `stop what listens there, or use ${flag} 0 for any free port`,
    EACCES: `use a port above 1023 (${flag} 8000)`,
    EADDRNOTAVAIL: 'use an address of this machine, such as 127.0.0.1 or 0.0.0.0',
  };
  return fail(name, `${shown} can't be listened on (${code})`, fixes[code] ?? 'use another address or port');
}

function tryListening(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}
