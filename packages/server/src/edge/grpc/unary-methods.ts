import { GimbalError, toGimbalError } from '@gimbal/core';
import type { handleUnaryCall, MethodDefinition } from '@grpc/grpc-js';
import type { EdgePorts } from '../route.ts';
import { answerMetadata } from './answer-metadata.ts';
import type { Fronts } from './call-front.ts';
import { failedStatus } from './failure.ts';
import {
  configurationDocument,
  indexDocuments,
  metadataDocument,
  statisticsDocument,
} from './model-document.ts';
import type { Message } from './protocol.ts';

/** Answers a decoded request; what it throws or rejects with becomes a status. */
export type UnaryMethod = (request: Message) => Message | Promise<Message>;

/** Protocol extensions that are served; clients choose by them. */
const EXTENSIONS = ['classification', 'model_configuration', 'model_repository', 'parameters', 'statistics'];

/** Traces are written by nobody yet: off, in the protocol's words. */
const TRACE_SETTINGS: Readonly<Record<string, readonly string[]>> = {
  trace_level: ['OFF'],
  trace_rate: ['1000'],
  trace_count: ['-1'],
  log_frequency: ['0'],
  trace_file: [''],
};

const LOG_SETTINGS: Message = {
  log_file: { string_param: '' },
  log_info: { bool_param: true },
  log_warning: { bool_param: true },
  log_error: { bool_param: true },
  log_verbose_level: { uint32_param: 0 },
  log_format: { string_param: 'default' },
};

/** Every unary method of the inference service but `ModelInfer`. */
export function unaryMethods(ports: EdgePorts): Readonly<Record<string, UnaryMethod>> {
  return {
    ...stateMethods(ports),
    ...repositoryMethods(ports),
    ...settingsMethods(ports),
    ...sharedMemoryMethods(),
  };
}

function stateMethods({ inference, server }: EdgePorts): Record<string, UnaryMethod> {
  const found = (request: Message) => inference.find(textOf(request.name), versionOf(request));
  return {
    ServerLive: () => ({ live: true }),
    ServerReady: () => ({ ready: inference.ready }),
    ModelReady: (request) => ({ ready: isReady(() => found(request).state === 'ready') }),
    ServerMetadata: () => ({ name: server.name, version: server.version, extensions: EXTENSIONS }),
    ModelMetadata: (request) => metadataDocument(found(request), inference.catalogue()),
    ModelConfig: (request) => ({ config: configurationDocument(found(request)) }),
    ModelStatistics: (request) => ({
      model_stats:
        textOf(request.name) === ''
          ? inference.catalogue().flatMap(({ versions }) => versions.map(statisticsDocument))
          : [statisticsDocument(found(request))],
    }),
  };
}

function repositoryMethods({ inference }: EdgePorts): Record<string, UnaryMethod> {
  return {
    RepositoryIndex: (request) => {
      refuseRepository(textOf(request.repository_name));
      const models = inference.catalogue().flatMap(indexDocuments);
      return { models: request.ready === true ? models.filter(({ state }) => state === 'READY') : models };
    },
    RepositoryModelLoad: async (request) => {
      const model = modelOf(request);
      refuseOverrides('load', request);
      await inference.load(model);
      return { model_name: model, isLoaded: true };
    },
    RepositoryModelUnload: async (request) => {
      const model = modelOf(request);
      refuseOverrides('unload', request);
      await inference.unload(model);
      return { model_name: model, isUnloaded: true };
    },
  };
}

/** Trace and log settings can be read; they are set by the configuration alone. */
function settingsMethods({ inference }: EdgePorts): Record<string, UnaryMethod> {
  const refuseChanges = ({ settings }: Message): void => {
    if (settings && Object.keys(settings).length > 0) {
      throw new GimbalError('UNSUPPORTED', 'Cannot change settings here: they are fields of gimbal.yaml');
    }
  };
  return {
    TraceSetting: (request) => {
      refuseChanges(request);
      const model = textOf(request.model_name);
      if (model !== '') inference.find(model, undefined);
      const entries = Object.entries(TRACE_SETTINGS).map(([name, value]) => [name, { value }]);
      return { settings: Object.fromEntries(entries) };
    },
    LogSettings: (request) => {
      refuseChanges(request);
      return { settings: LOG_SETTINGS };
    },
  };
}

function sharedMemoryMethods(): Record<string, UnaryMethod> {
  const methods: Record<string, UnaryMethod> = {};
  for (const kind of ['SystemSharedMemory', 'CudaSharedMemory']) {
    for (const verb of ['Status', 'Register', 'Unregister']) {
      methods[`${kind}${verb}`] = () => {
        throw new GimbalError('UNSUPPORTED', 'Cannot use shared-memory regions: they are not supported');
      };
    }
  }
  return methods;
}

/** A method on the wire: its request is decoded here, so that what is wrong with it is answered as MALFORMED_REQUEST. */
export function unaryHandler(
  ports: EdgePorts,
  fronts: Fronts,
  { definition, method }: { definition: MethodDefinition<Message, Message>; method: UnaryMethod },
): handleUnaryCall<Buffer, Buffer> {
  return (call, respond) => {
    const front = fronts.get(call.metadata);
    const requestId = front?.requestId ?? '';
    const answer = (message: Message): void => {
      const bytes = definition.responseSerialize(message);
      front?.report.ok(bytes.length);
      call.sendMetadata(answerMetadata(requestId));
      respond(null, bytes);
    };
    const fail = (thrown: unknown): void => {
      const error = toGimbalError(thrown);
      front?.report.failed(error);
      respond(failedStatus(error, requestId, ports.random));
    };
    try {
      const made = method(decoded(definition, call.request));
      if (made instanceof Promise) made.then(answer).catch(fail);
      else answer(made);
    } catch (error) {
      fail(error);
    }
  };
}

export function decoded(definition: MethodDefinition<Message, Message>, bytes: Buffer): Message {
  try {
    return definition.requestDeserialize(bytes);
  } catch (cause) {
    throw new GimbalError('MALFORMED_REQUEST', 'Cannot read the message: it is broken, expected protobuf', {
      cause,
    });
  }
}

/** Unknown models are not ready, as clients of the protocol expect. */
function isReady(ask: () => boolean): boolean {
  try {
    return ask();
  } catch {
    return false;
  }
}

/** KServe's requests have the model's name where Triton's have the repository's. */
function modelOf(request: Message): string {
  const model = textOf(request.model_name);
  const repository = textOf(request.repository_name);
  if (model === '') return repository;
  refuseRepository(repository);
  return model;
}

function refuseRepository(name: string): void {
  if (name === '') return;
  throw new GimbalError('UNSUPPORTED', 'Cannot choose a repository: there is one, leave its name out');
}

function refuseOverrides(verb: string, { parameters }: Message): void {
  const names = Object.keys(parameters ?? {});
  if (!names.some((name) => name === 'config' || name.startsWith('file:'))) return;
  throw new GimbalError(
    'UNSUPPORTED',
    `Cannot ${verb} with "config" or "file:": models are configured by their version.yaml`,
  );
}

function versionOf(request: Message): string | undefined {
  const version = textOf(request.version);
  return version === '' ? undefined : version;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
