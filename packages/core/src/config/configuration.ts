import type { z } from 'zod';
import { formatByteSize } from './byte-size.ts';
import { cacheSection } from './cache-section.ts';
import { formatDurationMs } from './duration.ts';
import { field, mapping, optionalField, section } from './field.ts';
import { grpcSection, wrongGrpc } from './grpc-section.ts';
import { boolean, choice, choices, duration, integer, text, texts } from './leaf.ts';
import { limitsSection } from './limits-section.ts';
import { batchingSection, deadlineField, runnersSection, watchField } from './model-sections.ts';
import { streamSection } from './stream-section.ts';

const HOUR_MS = 3_600_000;
const port = integer({ min: 0, max: 65_535 });

const serverShape = {
  http: section('Inference over HTTP/1.1.', {
    host: field(text('an address or host name to listen on'), {
      default: '127.0.0.1',
      description: 'Address that the HTTP server listens on; `0.0.0.0` or `::` for all.',
      reason: 'A fresh install is reachable from its own machine only.',
      flag: 'host',
    }),
    port: field(port, {
      default: 8000,
      description: 'Port of the HTTP server; 0 takes any free one.',
      reason: 'The port of Triton and KServe: their clients find it.',
      flag: 'port',
    }),
  }),
  grpc: grpcSection,
  admin: section('Metrics, runners and administration.', {
    host: field(text('an address or host name to listen on'), {
      default: '127.0.0.1',
      description: 'Address of the admin server. It has no authentication: keep it inside.',
      reason: 'Whoever reaches it can stop models.',
    }),
    port: field(port, {
      default: 8002,
      description: 'Port of the admin server and `/metrics`; 0 takes any free one.',
      reason: 'The metrics port of Triton: scrapers find it.',
    }),
  }),
};

const repositoryShape = {
  models: section('The model repository.', {
    path: field(text('a folder of models or one .onnx file'), {
      default: 'models',
      description:
        'Folder of models, one model’s folder, or one .onnx file. Relative to the file that says it.',
      reason: 'The folder that `gimbal init` makes.',
      flag: { none: 'the first argument of `gimbal serve`' },
    }),
    required: field(texts('model names'), {
      default: [],
      description:
        'Models without which the server is not ready. None named: it is ready when every model found at start is loaded or has told why it can’t be.',
      reason: 'A broken model must not keep the others from traffic unless someone says so.',
    }),
    watch: watchField,
    scanIntervalMs: field(duration({ minMs: 500, maxMs: HOUR_MS, unit: 'in-name' }), {
      default: 30_000,
      description: 'How often the folder is read again although no change was reported.',
      reason: 'Network file systems and some container mounts report no changes.',
    }),
    settleMs: field(duration({ minMs: 10, maxMs: 10 * 60_000, unit: 'in-name' }), {
      default: 1_000,
      description: 'How long files must stay unchanged before they are read.',
      reason: 'A model that is still being copied must not be loaded half.',
    }),
  }),
  defaultModel: optionalField(text('the name of a model'), {
    description:
      'Model of `/predict`, `/batch_predict` and `/infer`. Left out: the first ready one whose task fits.',
  }),
  batching: batchingSection,
  runners: runnersSection,
  deadline: deadlineField,
  transport: field(choice(['auto', 'shared', 'heap']), {
    default: 'auto',
    description:
      'How tensors travel to runners: `shared` memory or, through `heap`, inside the frames of a socket. `auto` takes shared memory where it works.',
    reason: 'Shared memory is three times as fast for an image and needs Linux.',
  }),
};

const operationsShape = {
  limits: limitsSection,
  cache: cacheSection,
  stream: streamSection,
  drain: section('How the server stops.', {
    lameDuckMs: field(duration({ minMs: 0, maxMs: HOUR_MS, unit: 'in-name' }), {
      default: 3_000,
      description:
        'After SIGTERM the server answers on, not ready, for this long before it refuses new work.',
      reason: 'Load balancers need 1 to 3 s to see that a replica is not ready.',
      flag: 'lame-duck-ms',
    }),
    drainTimeoutMs: field(duration({ minMs: 0, maxMs: 24 * HOUR_MS, unit: 'in-name' }), {
      default: 25_000,
      description: 'Time for requests in flight to end; then they are cut off.',
      reason: 'With the 3 s before, inside the 30 s of grace that Kubernetes gives.',
      flag: 'drain-timeout-ms',
    }),
  }),
  log: section('Logs, on stderr.', {
    level: field(choice(['debug', 'info', 'warn', 'error', 'silent']), {
      default: 'info',
      description: 'Lowest level that is written.',
      reason: 'One line for each request, and every decision.',
      reloadable: true,
    }),
    format: field(choice(['auto', 'json', 'pretty']), {
      default: 'auto',
      description: '`json` for machines, `pretty` for people; `auto` is pretty on a terminal.',
      reason: 'Log collectors have no terminal.',
    }),
    access: field(choice(['all', 'failures', 'none']), {
      default: 'all',
      description: 'Which requests get a log line.',
      reason: 'A request that nobody logged can’t be explained.',
      reloadable: true,
    }),
  }),
  metrics: section('Metrics, on the admin port.', {
    compat: field(choices(['triton']), {
      default: [],
      description: 'Further metric names to serve beside our own: `triton` for its `nv_inference_…` set.',
      reason: 'Twice the series for everyone would help few.',
    }),
  }),
  drills: field(boolean(), {
    default: false,
    description: 'Whether faults may be injected through the admin API.',
    reason: 'Only for tests and exercises: a drill breaks requests.',
  }),
};

/**
 * The configuration of a server: the only source of its types, checks, defaults, JSON Schema, reference page,
 * environment names and flags.
 */
export const configurationSchema = mapping({
  ...serverShape,
  ...repositoryShape,
  ...operationsShape,
}).superRefine((configuration, context) => {
  for (const relation of brokenRelations(configuration)) {
    context.addIssue({
      code: 'custom',
      path: [...relation.path],
      message: relation.expected,
      params: { got: relation.got },
    });
  }
});

export type Configuration = z.output<typeof configurationSchema>;

interface BrokenRelation {
  readonly path: readonly string[];
  readonly expected: string;
  readonly got: string;
}

type Fields = z.output<
  ReturnType<typeof mapping<typeof serverShape & typeof repositoryShape & typeof operationsShape>>
>;

/** Relations between fields; each message names both. */
function brokenRelations(configuration: Fields): BrokenRelation[] {
  const { batching, deadline, drain, limits, models } = configuration;
  const broken: BrokenRelation[] = [...clashingPorts(configuration)];
  for (const name of ['arenaBytes', 'maxCollectedBytes'] as const) {
    if (limits[name] >= limits.maxBodyBytes) continue;
    broken.push({
      path: ['limits', name],
      expected: `at least limits.maxBodyBytes (${formatByteSize(limits.maxBodyBytes)}), so that the largest body has room`,
      got: formatByteSize(limits[name]),
    });
  }
  const durations = [
    ['batching.maxDelay', batching.maxDelay, 'deadline', deadline],
    ['models.settleMs', models.settleMs, 'models.scanIntervalMs', models.scanIntervalMs],
    ['drain.lameDuckMs', drain.lameDuckMs, 'drain.drainTimeoutMs', drain.drainTimeoutMs],
  ] as const;
  for (const [name, valueMs, otherName, otherMs] of durations) {
    if (valueMs <= otherMs) continue;
    broken.push({
      path: name.split('.'),
      expected: `at most ${otherName} (${formatDurationMs(otherMs)})`,
      got: formatDurationMs(valueMs),
    });
  }
  return [...broken, ...wrongGrpc(configuration.grpc), ...wrongPreferredSizes(batching)];
}

function clashingPorts({ http, grpc, admin }: Fields): BrokenRelation[] {
  const ports = [
    ['http', http.port],
    ['grpc', grpc.port],
    ['admin', admin.port],
  ] as const;
  return ports.flatMap(([name, value], index) => {
    const other = ports.slice(0, index).find(([, earlier]) => earlier === value && value !== 0);
    if (other === undefined) return [];
    return [
      {
        path: [name, 'port'],
        expected: `a port other than ${other[0]}.port (${other[1]})`,
        got: String(value),
      },
    ];
  });
}

/** Also for version.yaml and model.yaml, whose batching has the same fields. */
export function wrongPreferredSizes(batching: {
  readonly maxSize?: number | 'auto' | undefined;
  readonly preferredSizes?: readonly number[] | undefined;
}): BrokenRelation[] {
  const sizes = batching.preferredSizes ?? [];
  const path = ['batching', 'preferredSizes'];
  const got = `[${sizes.join(', ')}]`;
  if (sizes.some((size, index) => index > 0 && size <= (sizes[index - 1] ?? 0))) {
    return [{ path, expected: 'ascending sizes', got }];
  }
  const { maxSize } = batching;
  if (typeof maxSize === 'number' && sizes.some((size) => size > maxSize)) {
    return [{ path, expected: `sizes up to batching.maxSize (${maxSize})`, got }];
  }
  return [];
}
