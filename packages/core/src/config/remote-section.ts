import { z } from 'zod';
import { REMOTE_PROTOCOLS } from '../contract/remote.ts';
import { DATATYPES } from '../tensor/datatype.ts';
import { mapping, optionalField, requiredField } from './field.ts';
import { byteSize, choice, decimal, duration, integer, integerOrAuto, integers, text } from './leaf.ts';

const MIB = 1024 * 1024;
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** Each endpoint costs connections and probes; a wider fleet belongs behind a balancer of its own. */
const MAX_ENDPOINTS = 64;
const MAX_HEADERS = 32;
const MAX_TENSORS = 256;
const MAX_AXES = 32;
/** Batches at once at one endpoint. */
const MAX_CONCURRENCY = 256;

const ADDRESS = 'an address such as http://triton:8000, https://…, grpc://triton:8001 or grpcs://…';
const ADDRESSES = `a list of 1 to ${MAX_ENDPOINTS} addresses, such as http://triton:8000`;
const endpoint = text(ADDRESS).regex(/^(https?|grpcs?):\/\/[^\s/?#@]+(\/[^\s?#]*)?$/, { error: ADDRESS });

const HEADER_NAME = 'a header name of letters, digits and "-"';
const HEADER_VALUE = 'a header value of printable ASCII';
const VARIABLE = 'the name of an environment variable';
const declaredHeader = mapping({
  name: requiredField(text(HEADER_NAME).regex(/^[A-Za-z0-9-]{1,128}$/, { error: HEADER_NAME }), {
    description: 'Name of the header.',
  }),
  value: optionalField(text(HEADER_VALUE).regex(/^[\x20-\x7e]+$/, { error: HEADER_VALUE }), {
    description: 'Its value, where that is no secret.',
  }),
  env: optionalField(text(VARIABLE).regex(/^[A-Za-z_][A-Za-z0-9_]*$/, { error: VARIABLE }), {
    description: 'Environment variable that holds its value; never logged.',
  }),
  prefix: optionalField(text(HEADER_VALUE).regex(/^[\x20-\x7e]+$/, { error: HEADER_VALUE }), {
    description: 'What stands before the value of `env`, such as "Bearer ".',
  }),
});
const HEADERS = `a list of at most ${MAX_HEADERS} headers`;

const FILE = 'the name of a PEM file inside the version’s folder';
const declaredTls = mapping({
  ca: optionalField(text(FILE), { description: 'Authorities that are trusted instead of the usual ones.' }),
  cert: optionalField(text(FILE), { description: 'Our own certificate, where the server asks for one.' }),
  key: optionalField(text(FILE), { description: 'Its private key.' }),
  serverName: optionalField(text('a host name'), {
    description: 'Name that the server’s certificate must have, where it is not the address’s own.',
  }),
});

const declaredTensor = mapping({
  name: requiredField(text('the name of a tensor'), { description: 'Name of the tensor.' }),
  datatype: requiredField(choice(DATATYPES), { description: 'Its datatype, by its V2 name.' }),
  shape: requiredField(integers({ min: -1, max: 2_147_483_647, maxItems: MAX_AXES }), {
    description: 'Its shape, the batch axis included; -1 where a length is free.',
  }),
});
const TENSORS = `a list of 1 to ${MAX_TENSORS} tensors`;
const tensors = z
  .array(declaredTensor, { error: TENSORS })
  .min(1, { error: TENSORS })
  .max(MAX_TENSORS, { error: TENSORS });

/** `remote` of version.yaml: the model runs in someone else's server, and the folder has no model file. */
export const declaredRemote = mapping({
  protocol: optionalField(choice(REMOTE_PROTOCOLS), {
    description:
      'What the server speaks. Default: `v2-rest` (Triton, OpenVINO Model Server, KServe, MLServer, Gimbal), or `v2-grpc` for grpc:// addresses.',
  }),
  endpoints: requiredField(
    z
      .array(endpoint, { error: ADDRESSES })
      .min(1, { error: ADDRESSES })
      .max(MAX_ENDPOINTS, { error: ADDRESSES }),
    {
      description:
        'Addresses of servers that all serve the same model; load is shared among those that work.',
    },
  ),
  model: optionalField(text('the name of a model'), {
    description: 'The model’s name there. Default: its name here.',
  }),
  version: optionalField(text('the name of a version, in quotes'), {
    description: 'The version there. Default: the one that the server takes for current.',
  }),
  inputs: optionalField(tensors, {
    description: 'The model’s inputs; checked against what the server says. Default: what the server says.',
  }),
  outputs: optionalField(tensors, { description: 'The model’s outputs, likewise.' }),
  encoding: optionalField(choice(['auto', 'binary', 'json']), {
    description:
      'How tensors travel over REST. `auto` (the default): as raw bytes where the server lists the extension `binary_tensor_data`.',
  }),
  concurrency: optionalField(integerOrAuto({ min: 1, max: MAX_CONCURRENCY }), {
    description:
      'Batches at once at each endpoint. `auto` (the default): as many as do not make each other wait.',
  }),
  maxConcurrency: optionalField(integer({ min: 1, max: MAX_CONCURRENCY }), {
    description: 'Most that `auto` tries. Default: 32.',
  }),
  headers: optionalField(z.array(declaredHeader, { error: HEADERS }).max(MAX_HEADERS, { error: HEADERS }), {
    description: 'Headers of every call, such as `authorization`.',
  }),
  tls: optionalField(declaredTls, { description: 'How https:// and grpcs:// addresses are trusted.' }),
  connectTimeout: optionalField(duration({ minMs: 10, maxMs: MINUTE_MS, unit: 'in-value' }), {
    description: 'Time for a connection. Default: 1s.',
  }),
  attemptTimeout: optionalField(duration({ minMs: 10, maxMs: DAY_MS, unit: 'in-value' }), {
    description:
      'Longest that one attempt may take. Default: five times the latency that was seen, at least 500ms.',
  }),
  maxResponse: optionalField(byteSize({ min: 1024, max: 2048 * MIB - 1 }), {
    description: 'Largest answer that is read. Default: 64MiB.',
  }),
  probeInterval: optionalField(duration({ minMs: 50, maxMs: 10 * MINUTE_MS, unit: 'in-value' }), {
    description: 'How often a working endpoint is asked whether it is ready. Default: 500ms.',
  }),
  probeTimeout: optionalField(duration({ minMs: 10, maxMs: MINUTE_MS, unit: 'in-value' }), {
    description: 'Time for its answer. Default: 500ms.',
  }),
  attempts: optionalField(integer({ min: 1, max: 8 }), {
    description: 'Attempts of one batch, each at another endpoint where there is one. Default: 3.',
  }),
  retryRatio: optionalField(decimal({ min: 0, max: 1 }), {
    description: 'Retries as a share of batches. Default: 0.1.',
  }),
  hedgeRatio: optionalField(decimal({ min: 0, max: 0.5 }), {
    description:
      'A batch that takes longer than 95 % do is sent to a second endpoint too, in at most this share of cases. Default: 0, never.',
  }),
}).superRefine((declared, context) => {
  for (const { path, expected, got } of contradictions(declared)) {
    context.addIssue({ code: 'custom', path: [...path], message: expected, params: { got } });
  }
});

interface Checked {
  readonly protocol?: string | undefined;
  readonly endpoints: readonly string[];
  readonly inputs?: unknown;
  readonly outputs?: unknown;
  readonly headers?:
    | readonly { readonly value?: string | undefined; readonly env?: string | undefined }[]
    | undefined;
  readonly tls?: { readonly cert?: string | undefined; readonly key?: string | undefined } | undefined;
}

function contradictions(declared: Checked) {
  const issues: { path: readonly (string | number)[]; expected: string; got: string }[] = [];
  const { protocol, endpoints, headers = [], tls } = declared;
  const isGrpc = protocol === undefined ? isGrpcAddress(endpoints[0] ?? '') : protocol === 'v2-grpc';
  for (const [index, address] of endpoints.entries()) {
    if (isGrpcAddress(address) === isGrpc) continue;
    const expected = isGrpc ? 'grpc:// or grpcs://, as the protocol is v2-grpc' : 'http:// or https://';
    issues.push({ path: ['endpoints', index], expected, got: JSON.stringify(address) });
  }
  for (const [index, { value, env }] of headers.entries()) {
    if ((value === undefined) !== (env === undefined)) continue;
    const got = value === undefined ? 'neither' : 'both';
    issues.push({ path: ['headers', index], expected: 'either "value" or "env"', got });
  }
  if ((declared.inputs === undefined) !== (declared.outputs === undefined)) {
    const path = [declared.inputs === undefined ? 'outputs' : 'inputs'];
    issues.push({ path, expected: 'both "inputs" and "outputs", or neither', got: 'only one' });
  }
  if (tls !== undefined && (tls.cert === undefined) !== (tls.key === undefined)) {
    issues.push({ path: ['tls'], expected: 'both "cert" and "key", or neither', got: 'only one' });
  }
  return issues;
}

function isGrpcAddress(address: string): boolean {
  return address.startsWith('grpc');
}

export type DeclaredRemote = z.output<typeof declaredRemote>;
