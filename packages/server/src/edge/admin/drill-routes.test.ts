import { GimbalError } from '@gimbal/core';
import { describe, expect, it } from 'vitest';
import type { Answer, EdgeRequest } from '../route.ts';
import { type DrillPort, drillRoutes } from './drill-routes.ts';

interface Asked {
  status?: number;
  body?: unknown;
  error?: { code: string; message: string };
}

function ask(
  line: string,
  { port = {}, body = '' }: { port?: Partial<DrillPort>; body?: string } = {},
): Asked {
  const [method, path = ''] = line.split(' ');
  const asked: Asked = {};
  const reply = {
    send: ({ status, body: text }: Answer) =>
      Object.assign(asked, { status, body: JSON.parse(text as string) }),
    fail: (error: unknown) => Object.assign(asked, { error }),
  };
  const exchange = {
    readBody: (_limit: number, onBody: (bytes: Uint8Array) => void) => onBody(Buffer.from(body)),
  };
  const whole = { faults: () => ({}), inject: () => ({}), clear: () => ({}), ...port };
  for (const route of drillRoutes(whole)) {
    const match = new RegExp(`^${route.pattern.replace('{fault}', '([^/]+)')}$`).exec(path);
    if (!match || route.method !== method) continue;
    route.run({ exchange, reply, parameters: { fault: match[1] } } as unknown as EdgeRequest);
    return asked;
  }
  throw new Error(`no route for ${line}`);
}

describe('Drill routes', () => {
  it('list faults', () => {
    expect(ask('GET /admin/v1/faults', { port: { faults: () => ({ faults: [1] }) } })).toEqual({
      status: 200,
      body: { faults: [1] },
    });
  });

  it('inject what the body says', () => {
    const inject = (body: unknown) => ({ injected: body });
    expect(ask('POST /admin/v1/faults', { port: { inject }, body: '{"kind":"kill"}' })).toEqual({
      status: 200,
      body: { injected: { kind: 'kill' } },
    });
  });

  it('refuse a body that is not JSON', () => {
    const { error } = ask('POST /admin/v1/faults', { body: 'kind=kill' });
    expect(error).toMatchObject({ code: 'MALFORMED_REQUEST' });
  });

  it('pass on why the host refuses', () => {
    const error = new GimbalError('PERMISSION_DENIED', 'Cannot inject a fault: drills are off');
    const inject = (): never => {
      throw error;
    };
    expect(ask('POST /admin/v1/faults', { port: { inject }, body: '{}' }).error).toBe(error);
  });

  it('clear one fault, or all', () => {
    const clear = (id: string | undefined) => ({ id: id ?? 'all' });
    expect(ask('POST /admin/v1/faults/7/clear', { port: { clear } }).body).toEqual({ id: '7' });
    expect(ask('POST /admin/v1/faults/clear', { port: { clear } }).body).toEqual({ id: 'all' });
  });
});
