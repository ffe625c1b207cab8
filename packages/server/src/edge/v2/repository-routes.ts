import { type CatalogueEntry, GimbalError, JsonScan, type VersionState } from '@gimbal/core';
import { answerJson } from '../front/simple-answers.ts';
import type { EdgePorts, EdgeRequest } from '../route.ts';
import { refuseSecond } from './infer-head.ts';
import { readPlainBody } from './plain-body.ts';
import { unsupported, type V2Route, v2Route } from './v2-route.ts';

const MAX_BODY_BYTES = 1024 * 1024;

const STATES: Readonly<Record<VersionState, string>> = {
  loading: 'LOADING',
  ready: 'READY',
  unloading: 'UNLOADING',
  unavailable: 'UNAVAILABLE',
};

const CHANGE_FAILED = "what serves is unchanged, as its change on disk can't be loaded";

/** The repository extension: index, load, unload. */
export function repositoryRoutes(ports: EdgePorts): V2Route[] {
  const { inference } = ports;
  const withBody = (request: EdgeRequest, run: (body: RepositoryBody) => void): void => {
    const onFail = (error: unknown): void => request.reply.fail(error);
    readPlainBody(request, {
      limitBytes: MAX_BODY_BYTES,
      onBody: (bytes) => {
        try {
          run(readBody(bytes, ports.limits.maxJsonDepth));
        } catch (error) {
          onFail(error);
        }
      },
      onFail,
    });
  };
  const change = (verb: 'load' | 'unload') => (request: EdgeRequest) =>
    withBody(request, ({ overrides }) => {
      if (overrides) {
        throw new GimbalError(
          'UNSUPPORTED',
          `Cannot ${verb} with "config" or "file:": models are configured by their version.yaml`,
        );
      }
      inference[verb](request.parameters.model ?? '').then(
        () => request.reply.send({ status: 200, contentType: 'application/json', body: '{}' }),
        (error: unknown) => request.reply.fail(error),
      );
    });
  return [
    v2Route('POST', '/v2/repository/index', (request) =>
      withBody(request, ({ ready }) =>
        answerJson(
          request,
          inference
            .catalogue()
            .flatMap(indexOf)
            .filter(({ state }) => !ready || state === 'READY'),
        ),
      ),
    ),
    v2Route('POST', '/v2/repository/models/{model}/load', change('load')),
    v2Route('POST', '/v2/repository/models/{model}/unload', change('unload')),
    v2Route(
      'POST',
      '/v2/repository/{repository}/models/{model}/load',
      unsupported('choose a repository: there is one, leave its name out'),
    ),
    v2Route(
      'POST',
      '/v2/repository/{repository}/models/{model}/unload',
      unsupported('choose a repository: there is one, leave its name out'),
    ),
  ];
}

interface IndexEntry {
  readonly name: string;
  readonly version?: string;
  readonly state?: string;
  readonly reason?: string;
}

/** One row for each version: where a change to one that serves can't be loaded, its row says so beside its state. */
function indexOf({ model, versions, failures }: CatalogueEntry): IndexEntry[] {
  const reasons = new Map(failures.map(({ version, reason }) => [version, reason]));
  const rows = new Map<string, IndexEntry>();
  for (const { spec, state, reason } of versions) {
    const { version } = spec;
    const failed = reasons.get(version);
    const why = reason ?? (failed === undefined ? undefined : `${CHANGE_FAILED}: ${failed}`);
    rows.set(version, {
      name: model,
      version,
      state: STATES[state],
      ...(why === undefined ? {} : { reason: why }),
    });
  }
  for (const [version, reason] of reasons) {
    if (!rows.has(version)) rows.set(version, { name: model, version, state: STATES.unavailable, reason });
  }
  return rows.size > 0 ? [...rows.values()] : [{ name: model }];
}

interface RepositoryBody {
  readonly ready: boolean;
  /** The client wants another configuration or other files than those on disk. */
  readonly overrides: boolean;
}

/** `{}` and an empty body are the same. */
function readBody(bytes: Uint8Array, maxDepth: number): RepositoryBody {
  if (bytes.length === 0) return { ready: false, overrides: false };
  const scan = new JsonScan(bytes, maxDepth);
  let ready: boolean | undefined;
  let overrides = false;
  scan.openObject();
  for (let key = scan.nextKey(); key !== undefined; key = scan.nextKey()) {
    if (key === 'ready') {
      refuseSecond(scan, ready, key);
      ready = scan.boolean();
    } else if (key === 'parameters' && scan.kind() === 'object') {
      scan.openObject();
      for (let name = scan.nextKey(); name !== undefined; name = scan.nextKey()) {
        overrides ||= name === 'config' || name.startsWith('file:');
        scan.skip();
      }
    } else scan.skip();
  }
  scan.finish();
  return { ready: ready ?? false, overrides };
}
