import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, test } from 'vitest';
import { expandProviders, missingForProvider, readProvider, selectDevice } from './execution-provider.ts';
import { type ModelSession, openModelSession, type SessionRuntime } from './model-session.ts';
import { createOnnxSession, type OnnxSession } from './onnx-binding.ts';

const MODELS = fileURLToPath(new URL('../../../../tests/fixtures/models/', import.meta.url));
const ADD_SUB = join(MODELS, 'add-sub/1/model.onnx');

describe('A provider as it is written', () => {
  test.each([
    ['cpu', { name: 'cpu', device: 'cpu', deviceId: undefined }],
    ['cuda', { name: 'cuda', device: 'cuda:0', deviceId: 0 }],
    ['cuda:3', { name: 'cuda', device: 'cuda:3', deviceId: 3 }],
    ['cuda:GPU-4c1f', { name: 'cuda', device: 'cuda:GPU-4c1f', deviceId: 0, uuid: 'GPU-4c1f' }],
    ['no-such-provider', { name: 'no-such-provider', device: 'no-such-provider', deviceId: undefined }],
  ])('%s', (written, provider) => {
    expect(readProvider(written)).toMatchObject(provider);
  });

  test('auto is CUDA before the CPU where CUDA may work, else the CPU alone', () => {
    expect(expandProviders(['auto'], () => undefined)).toEqual(['cuda', 'cpu']);
    expect(expandProviders(['auto'], () => 'there is no NVIDIA device')).toEqual(['cpu']);
    expect(expandProviders(['cuda:1', 'cpu'], () => 'no')).toEqual(['cuda:1', 'cpu']);
  });

  test('devices are counted by the PCI bus, or named alone by their uuid', () => {
    const environment: NodeJS.ProcessEnv = {};
    selectDevice(readProvider('cpu'), environment);
    expect(environment).toEqual({});
    selectDevice(readProvider('cuda:1'), environment);
    expect(environment).toEqual({ CUDA_DEVICE_ORDER: 'PCI_BUS_ID' });
    selectDevice(readProvider('cuda:GPU-4c1f'), environment);
    expect(environment.CUDA_VISIBLE_DEVICES).toBe('GPU-4c1f');
  });

  test('the CPU is never missing', () => {
    expect(missingForProvider('cpu')).toBeUndefined();
  });
});

/** The real runtime on the CPU, which takes CUDA for its own; `profile` says what it claims to have run where. */
function pretendingRuntime(
  profile: (text: string) => string,
): SessionRuntime & { readonly disposed: string[] } {
  const disposed: string[] = [];
  const createSession = (): OnnxSession => {
    const real = createOnnxSession();
    let asked = '';
    let prefix = '';
    return {
      loadModel: (path, options) => {
        const { executionProviders, profileFilePrefix } = options as Record<string, unknown>;
        asked = JSON.stringify(executionProviders);
        prefix = String(profileFilePrefix);
        real.loadModel(path, { ...options, executionProviders: ['cpu'] });
      },
      get inputMetadata() {
        return real.inputMetadata;
      },
      get outputMetadata() {
        return real.outputMetadata;
      },
      run: (feeds, fetches, options) => real.run(feeds, fetches, options),
      endProfiling: () => {
        real.endProfiling();
        for (const file of readdirSync(dirname(prefix)).map((name) => join(dirname(prefix), name))) {
          writeFileSync(file, profile(readFileSync(file, 'utf8')));
        }
      },
      dispose: () => {
        disposed.push(asked);
        real.dispose();
      },
    };
  };
  return { createSession, missing: () => undefined, disposed };
}

function runOnce(session: ModelSession): void {
  const tensor = { type: 'int32', data: new Int32Array(16).fill(2), dims: [1, 16], location: 'cpu' } as const;
  session.run({ INPUT0: tensor, INPUT1: tensor });
}

function open(providers: readonly string[], runtime: SessionRuntime, tryRun = runOnce): ModelSession {
  return openModelSession({ file: ADD_SUB, threads: 1, providers, tryRun, runtime });
}

describe('The provider in use is proven by the profile of a run', () => {
  it('is reported when nodes ran on it, with its device', () => {
    const runtime = pretendingRuntime((text) =>
      text.replaceAll('CPUExecutionProvider', 'CUDAExecutionProvider'),
    );
    const session = open(['cuda:1', 'cpu'], runtime);
    expect({ device: session.device, notes: session.notes }).toEqual({ device: 'cuda:1', notes: [] });
    expect(runtime.disposed).toEqual([]);
    runOnce(session);
    session.close();
    expect(runtime.disposed).toEqual(['[{"name":"cuda","deviceId":1}]']);
  });

  it('is named with what of the graph runs beside it', () => {
    const runtime = pretendingRuntime((text) =>
      text.replace('CPUExecutionProvider', 'CUDAExecutionProvider'),
    );
    const session = open(['cuda', 'cpu'], runtime);
    expect(session.device).toBe('cuda:0');
    expect(session.notes).toEqual([expect.stringMatching(/^\d+ of \d+ nodes run on the CPU beside cuda:0$/)]);
  });

  it('is not believed when all nodes ran on the CPU: the CPU is taken, with the reason', () => {
    const runtime = pretendingRuntime((text) => text);
    const session = open(['cuda', 'cpu'], runtime);
    expect(session.device).toBe('cpu');
    expect(session.notes).toEqual([
      expect.stringMatching(/^The model does not run on cuda:0: all \d+ nodes ran on the CPU$/),
    ]);
    expect(runtime.disposed).toEqual(['[{"name":"cuda","deviceId":0}]']);
  });

  it('is not believed when the run failed before any node', () => {
    const failing = () => {
      throw new Error('CUDA failure 2: out of memory');
    };
    const session = open(
      ['cuda', 'cpu'],
      pretendingRuntime((text) => text),
      failing,
    );
    expect(session.notes).toEqual(['The model does not run on cuda:0: CUDA failure 2: out of memory']);
  });

  it('keeps the reason of a load that failed on it', () => {
    const runtime = pretendingRuntime((text) => text);
    const createSession = (): OnnxSession => {
      const session = runtime.createSession();
      const loadModel: OnnxSession['loadModel'] = (path, options) => {
        if (JSON.stringify(options).includes('cuda'))
          throw new Error('CUDA failure 100: no CUDA-capable device');
        session.loadModel(path, options);
      };
      return Object.assign(Object.create(session), { loadModel }) as OnnxSession;
    };
    const session = open(['cuda', 'cpu'], { ...runtime, createSession });
    expect(session.device).toBe('cpu');
    expect(session.notes).toEqual([
      'The model does not run on cuda:0: CUDA failure 100: no CUDA-capable device',
    ]);
  });

  it('fails the load where no other is allowed', () => {
    expect(() =>
      open(
        ['cuda'],
        pretendingRuntime((text) => text),
      ),
    ).toThrow(/all \d+ nodes ran on the CPU/);
  });

  it('is not even tried where its files are missing, and the reason says what to install', () => {
    const runtime = { createSession: createOnnxSession, missing: missingForProvider };
    const cuda = missingForProvider('cuda');
    expect(cuda ?? '').not.toMatch(/node_modules/);
    const session = open(['cuda', 'cpu'], {
      ...runtime,
      missing: (name) => (name === 'cuda' ? 'there is no NVIDIA device' : undefined),
    });
    expect(session.device).toBe('cpu');
    expect(session.notes).toEqual(['The model does not run on cuda:0: there is no NVIDIA device']);
  });
});
