import { describe, expect, it } from 'vitest';
import { LineSink } from './line-sink.ts';
import { Log, type LogOptions } from './log.ts';
import { aRecord, stillClock } from './testing/builders.ts';

async function logged(options: Partial<LogOptions>, act: (log: Log) => void): Promise<string[]> {
  let text = '';
  const sink = new LineSink((chunk, done) => {
    text += chunk;
    done();
  });
  const log = new Log({
    clock: stillClock,
    sink,
    level: 'info',
    access: 'all',
    format: 'json',
    serviceName: 'gimbal',
    ...options,
  });
  act(log);
  await sink.close(1_000);
  return text.split('\n').filter((line) => line !== '');
}

describe('Log', () => {
  it('writes one JSON object for a finished call, with the fields of the design', async () => {
    const [line] = await logged({}, (log) => log.finished(aRecord({ traceId: 'c'.repeat(32) })));
    expect(JSON.parse(line ?? '')).toEqual({
      timestamp: '2026-09-01T12:00:00.250Z',
      level: 'info',
      message: 'POST /v1/models/{model}/predict',
      'service.name': 'gimbal',
      trace_id: 'c'.repeat(32),
      request_id: '01990000-0000-7000-8000-000000000001',
      protocol: 'native',
      model: 'digits',
      version: '1',
      variant: 'model',
      outcome: 'ok',
      'http.response.status_code': 200,
      total_ms: 2.5,
      queue_ms: 0.25,
      batch_wait_ms: 0.5,
      preprocess_ms: 0,
      infer_ms: 1.25,
      postprocess_ms: 0.125,
      batch_size: 4,
      rung: 0,
      rows: 1,
      request_bytes: 300,
      response_bytes: 120,
    });
  });

  it('stays one line of valid JSON whatever names and details hold', async () => {
    const hostile = 'a"b\\c\nd\u0000\u2028é😀';
    const record = aRecord({
      requestId: hostile,
      model: hostile,
      variant: hostile,
      method: hostile,
      code: 'INTERNAL',
      outcome: 'error',
      detail: hostile,
    });
    const lines = await logged({}, (log) => log.finished(record));
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      level: 'error',
      model: hostile,
      request_id: hostile,
      detail: hostile,
      'error.type': 'INTERNAL',
    });
  });

  it.each([
    [Number.NaN, 0],
    [-1, 0],
    [0.0004, 0],
    [0.0006, 0.001],
    [1234.5678, 1234.568],
    [1e12, 1e12],
  ])('writes %s ms as %s', async (totalMs, expected) => {
    const [line] = await logged({}, (log) => log.finished(aRecord({ totalMs })));
    expect(JSON.parse(line ?? '')).toMatchObject({ total_ms: expected });
  });

  it.each([
    ['ok', 'info'],
    ['client_error', 'info'],
    ['shed', 'warn'],
    ['timeout', 'warn'],
    ['error', 'error'],
  ] as const)('logs the outcome %s at level %s', async (outcome, level) => {
    const [line] = await logged({}, (log) => log.finished(aRecord({ outcome })));
    expect(JSON.parse(line ?? '')).toMatchObject({ level });
  });

  it('leaves out probes that went well, and keeps those that did not', async () => {
    const probe = { model: undefined, route: '/readyz', method: 'GET' };
    const lines = await logged({}, (log) => {
      log.finished(aRecord(probe));
      log.finished(aRecord({ ...probe, status: 503, outcome: 'shed', code: 'MODEL_LOADING' }));
    });
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('MODEL_LOADING');
  });

  it('can keep lines of calls to those that failed, or to none', async () => {
    const both = (log: Log): void => {
      log.finished(aRecord());
      log.finished(aRecord({ outcome: 'error', requestId: 'bad' }));
    };
    expect(await logged({ access: 'failures' }, both)).toEqual([expect.stringContaining('"bad"')]);
    expect(await logged({ access: 'none' }, both)).toEqual([]);
    expect(await logged({ level: 'silent' }, both)).toEqual([]);
  });

  it('can be changed while it runs', async () => {
    const lines = await logged({}, (log) => {
      log.change({ level: 'error', access: 'failures' });
      log.info('not shown');
      log.finished(aRecord());
      log.change({ level: 'debug', access: 'all' });
      log.debug('shown');
      log.finished(aRecord());
    });
    expect(lines.map((line) => JSON.parse(line).message)).toEqual([
      'shown',
      'POST /v1/models/{model}/predict',
    ]);
  });

  it('writes events with fields, level names and the same time stamps', async () => {
    const [line] = await logged({}, (log) => {
      log.debug('not shown');
      log.warn('Runner restarted', { model: 'digits', restarts: 2 });
    });
    expect(JSON.parse(line ?? '')).toEqual({
      level: 'warn',
      timestamp: '2026-09-01T12:00:00.250Z',
      'service.name': 'gimbal',
      message: 'Runner restarted',
      model: 'digits',
      restarts: 2,
    });
  });

  it('takes secrets out of fields at any depth and out of texts', async () => {
    const [line] = await logged({}, (log) =>
      log.info('calling https://user:hunter2@example.test with Bearer abcdefghijkl', {
        headers: { Authorization: 'Bearer abcdefghijkl', 'X-Api-Key': 'k', accept: 'json' },
        store: { redis: { nested: { password: 'hunter2', port: 1 } } },
        url: 'redis://:hunter2@localhost:1',
      }),
    );
    expect(line).not.toMatch(/hunter2|abcdefghijkl/);
    expect(JSON.parse(line ?? '')).toMatchObject({
      headers: { Authorization: '[redacted]', 'X-Api-Key': '[redacted]', accept: 'json' },
      store: { redis: { nested: { password: '[redacted]', port: 1 } } },
    });
  });

  it('writes an error with its stack, cause and code', async () => {
    const error = new Error('outer', { cause: new Error('inner') });
    const [line] = await logged({}, (log) => log.error('Cannot load', { err: error }));
    expect(JSON.parse(line ?? '')).toMatchObject({
      err: {
        type: 'Error',
        message: 'outer',
        cause: { message: 'inner' },
        stack: expect.stringContaining('outer'),
      },
    });
  });

  it('survives fields that refer to themselves and fields that are not JSON', async () => {
    const loop: Record<string, unknown> = { big: 1n, bytes: new Uint8Array(5), none: undefined };
    loop.self = loop;
    const [line] = await logged({}, (log) => log.info('odd', loop));
    expect(JSON.parse(line ?? '')).toMatchObject({ big: '1', bytes: '[5 bytes]' });
  });

  it('is readable at a terminal: time, level, message, fields', async () => {
    const [line] = await logged({ format: 'pretty' }, (log) => log.finished(aRecord()));
    expect(line).toMatch(/^\d\d:00:00\.250 INFO {2}POST \/v1\/models\/\{model\}\/predict request_id=0199/);
    expect(line).toContain('total_ms=2.5');
  });
});
