import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CONFIGURATION_FIELDS } from './field-list.ts';
import { type ConfigurationSources, resolveConfiguration } from './resolve-configuration.ts';

function resolve(sources: Partial<ConfigurationSources> = {}) {
  return resolveConfiguration({ file: undefined, environment: {}, flags: {}, ...sources });
}

function configuration(sources: Partial<ConfigurationSources> = {}) {
  const resolved = resolve(sources);
  if (!resolved.ok) throw new Error(JSON.stringify(resolved.problems));
  return resolved.configuration;
}

function problems(sources: Partial<ConfigurationSources>) {
  const resolved = resolve(sources);
  return resolved.ok ? [] : resolved.problems;
}

const flag = (name: string, text: string) => ({ [name]: { name: `--${name}`, text } });

describe('the default configuration', () => {
  it('is complete and passes its own checks', () => {
    expect(configuration()).toMatchObject({
      http: { host: '127.0.0.1', port: 8000 },
      grpc: { port: 8001 },
      admin: { host: '127.0.0.1', port: 8002 },
      models: { path: 'models', required: [], watch: true },
      transport: 'auto',
      drain: { lameDuckMs: 3_000, drainTimeoutMs: 25_000 },
      log: { level: 'info', format: 'auto' },
      metrics: { compat: [] },
      drills: false,
    });
    expect(configuration().defaultModel).toBeUndefined();
  });
});

describe('precedence', () => {
  const file = { http: { port: 1_111 } };
  const environment = { GIMBAL_HTTP_PORT: '2222' };
  const flags = flag('http.port', '3333');

  it('is flag, environment, file, default', () => {
    expect(configuration().http.port).toBe(8000);
    expect(configuration({ file }).http.port).toBe(1_111);
    expect(configuration({ file, environment }).http.port).toBe(2_222);
    expect(configuration({ file, environment, flags }).http.port).toBe(3_333);
  });

  it('is told by the origin of each field', () => {
    const resolved = resolve({ file: { http: { host: '::1' } }, environment, flags: flag('deadline', '2s') });
    if (!resolved.ok) throw new Error('not resolved');
    expect(Object.fromEntries(resolved.origins)).toEqual({
      'http.host': { kind: 'file' },
      'http.port': { kind: 'environment', name: 'GIMBAL_HTTP_PORT' },
      deadline: { kind: 'flag', name: '--deadline' },
    });
  });

  it('an empty variable is none, and a weaker wrong value does not matter', () => {
    expect(configuration({ file, environment: { GIMBAL_HTTP_PORT: '' } }).http.port).toBe(1_111);
    expect(configuration({ file: { http: { port: 'wrong' } }, environment }).http.port).toBe(2_222);
  });

  it('holds for every field that has a default', () => {
    for (const field of CONFIGURATION_FIELDS) {
      if (field.defaultText === undefined) continue;
      const written = field.defaultText.replace(/^\[(.*)\]$/, '$1').replace(/^"(.*)"$/, '$1');
      if (written === '') continue;
      expect(problems({ environment: { [field.environment]: written } }), field.name).toEqual([]);
      expect(problems({ flags: flag(field.name, written) }), field.name).toEqual([]);
    }
  });

  it('the given file is not changed', () => {
    const given = { http: { port: 1 } };
    configuration({ file: given, environment: { GIMBAL_HTTP_HOST: '::1' } });
    expect(given).toEqual({ http: { port: 1 } });
  });
});

describe('texts of variables and flags', () => {
  it('become durations, sizes, switches and lists', () => {
    const resolved = configuration({
      environment: {
        GIMBAL_DEADLINE: '1.5s',
        GIMBAL_DRAIN_LAME_DUCK_MS: '250',
        GIMBAL_LIMITS_MAX_BODY_BYTES: '16MiB',
        GIMBAL_MODELS_WATCH: 'off',
        GIMBAL_MODELS_REQUIRED: 'digits, minilm',
        GIMBAL_METRICS_COMPAT: 'triton',
        GIMBAL_BATCHING_PREFERRED_SIZES: '4,8',
        GIMBAL_RUNNERS_THREADS: 'auto',
      },
    });
    expect(resolved).toMatchObject({
      deadline: 1_500,
      drain: { lameDuckMs: 250 },
      limits: { maxBodyBytes: 16 * 1024 * 1024 },
      models: { watch: false, required: ['digits', 'minilm'] },
      metrics: { compat: ['triton'] },
      batching: { preferredSizes: [4, 8] },
      runners: { threads: 'auto' },
    });
  });
});

describe('a problem', () => {
  it('of a variable or a flag names it', () => {
    expect(problems({ environment: { GIMBAL_HTTP_PORT: '99999' } })).toEqual([
      {
        path: ['http', 'port'],
        at: 'value',
        expected: 'an integer from 0 to 65535',
        got: '99999',
        hint: undefined,
        origin: { kind: 'environment', name: 'GIMBAL_HTTP_PORT' },
      },
    ]);
    expect(problems({ flags: flag('transport', 'shard') })[0]).toMatchObject({
      hint: 'did you mean "shared"?',
      origin: { kind: 'flag', name: '--transport' },
    });
  });

  it('of an unknown key at any depth names the nearest one', () => {
    expect(problems({ file: { limts: {}, http: { prt: 1 } } })).toMatchObject([
      { path: ['http', 'prt'], at: 'key', hint: 'did you mean "port"?' },
      { path: ['limts'], at: 'key', hint: 'did you mean "limits"?' },
    ]);
  });

  it('of a bare number where no name says the unit is found', () => {
    expect(problems({ file: { deadline: 5 } })[0]).toMatchObject({ path: ['deadline'], got: '5' });
    expect(problems({ file: { limits: { headTimeoutMs: 500 } } })).toEqual([]);
  });

  it('of a section that is none is found, with all others', () => {
    const found = problems({ file: { http: 8080, log: { level: 'loud' } } });
    expect(found.map(({ path }) => path.join('.')).sort()).toEqual(['http', 'log.level']);
  });

  it('of a document that is no mapping is found', () => {
    expect(problems({ file: [1, 2] })[0]).toMatchObject({
      path: [],
      expected: expect.stringContaining('a mapping'),
    });
  });
});

describe('relations between limits', () => {
  it.each([
    [{ limits: { arenaBytes: '1MiB' } }, 'limits.arenaBytes', /limits\.maxBodyBytes \(64MiB\)/],
    [{ http: { port: 9000 }, admin: { port: 9000 } }, 'admin.port', /http\.port \(9000\)/],
    [{ drain: { lameDuckMs: 9, drainTimeoutMs: 8 } }, 'drain.lameDuckMs', /drain\.drainTimeoutMs \(8ms\)/],
    [{ batching: { maxDelay: '5s' }, deadline: '4s' }, 'batching.maxDelay', /deadline \(4s\)/],
    [{ models: { settleMs: '40s' } }, 'models.settleMs', /models\.scanIntervalMs \(30s\)/],
    [
      { batching: { maxSize: 4, preferredSizes: [2, 8] } },
      'batching.preferredSizes',
      /batching\.maxSize \(4\)/,
    ],
    [{ batching: { preferredSizes: [8, 2] } }, 'batching.preferredSizes', /ascending/],
  ])('%j is refused with both names', (file, name, other) => {
    const found = problems({ file });
    expect(found.map(({ path }) => path.join('.'))).toEqual([name]);
    expect(found[0]?.expected).toMatch(other);
    expect(found[0]?.got).not.toBe('nothing');
  });

  it('two ports of 0 are two free ports', () => {
    expect(problems({ file: { http: { port: 0 }, admin: { port: 0 } } })).toEqual([]);
  });

  it('a relation with a default says where the written value came from', () => {
    const [problem] = problems({ environment: { GIMBAL_ADMIN_PORT: '8000' } });
    expect(problem).toMatchObject({
      got: '8000',
      origin: { kind: 'environment', name: 'GIMBAL_ADMIN_PORT' },
    });
  });
});

describe('variables that nobody reads', () => {
  it('are told when they look like a slip', () => {
    const resolved = resolve({ environment: { GIMBAL_HTPP_PORT: '1', GIMBAL_FUZZ_SEED: '7' } });
    expect(resolved.ok && resolved.notes).toEqual([
      expect.stringMatching(/GIMBAL_HTPP_PORT.*did you mean GIMBAL_HTTP_PORT/),
    ]);
  });

  it('are no mistakes when Kubernetes makes them for a service', () => {
    const environment = {
      GIMBAL_PORT: 'tcp://10.0.0.1:8000',
      GIMBAL_SERVICE_PORT: '8000',
      GIMBAL_PORT_8000_TCP_PORT: '8000',
    };
    const resolved = resolve({ environment });
    expect(resolved.ok && resolved.notes).toEqual([]);
  });
});

it('no value makes the check throw', () => {
  fc.assert(
    fc.property(fc.anything({ maxDepth: 4 }), (file) => {
      expect(typeof resolve({ file }).ok).toBe('boolean');
    }),
    { numRuns: 500 },
  );
});

it('no text of a flag makes the check throw', () => {
  fc.assert(
    fc.property(fc.constantFrom(...CONFIGURATION_FIELDS), fc.string(), ({ name }, text) => {
      expect(typeof resolve({ flags: flag(name, text) }).ok).toBe('boolean');
    }),
    { numRuns: 500 },
  );
});
