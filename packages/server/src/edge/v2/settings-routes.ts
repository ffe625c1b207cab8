import { answerJson } from '../front/simple-answers.ts';
import type { EdgePorts, EdgeRequest } from '../route.ts';
import { unsupported, type V2Route, v2Route } from './v2-route.ts';

/** Traces are written by nobody yet: off, in the protocol's words. */
const TRACE_SETTINGS = {
  trace_level: ['OFF'],
  trace_rate: '1000',
  trace_count: '-1',
  log_frequency: '0',
  trace_file: '',
};

const LOG_SETTINGS = {
  log_file: '',
  log_info: true,
  log_warning: true,
  log_error: true,
  log_verbose_level: 0,
  log_format: 'default',
};

/** Trace and log settings can be read; they are set by the configuration alone. Shared memory is not there. */
export function settingsRoutes({ inference }: EdgePorts): V2Route[] {
  const traces = (request: EdgeRequest): void => answerJson(request, TRACE_SETTINGS);
  const fixed = unsupported('change settings here: they are fields of gimbal.yaml');
  const tracesOfModel = (request: EdgeRequest): void => {
    inference.find(request.parameters.model ?? '', undefined);
    traces(request);
  };
  const regions = ['systemsharedmemory', 'cudasharedmemory'].flatMap((kind) => [
    v2Route('GET', `/v2/${kind}/status`, (request) => answerJson(request, [])),
    v2Route(
      'GET',
      `/v2/${kind}/region/{region}/status`,
      unsupported('find the region: shared memory is not supported'),
    ),
    v2Route(
      'POST',
      `/v2/${kind}/region/{region}/register`,
      unsupported('register a region: shared memory is not supported'),
    ),
    v2Route(
      'POST',
      `/v2/${kind}/region/{region}/unregister`,
      unsupported('unregister a region: shared memory is not supported'),
    ),
    v2Route('POST', `/v2/${kind}/unregister`, (request) => answerJson(request, {})),
  ]);
  return [
    v2Route('GET', '/v2/trace/setting', traces),
    v2Route('POST', '/v2/trace/setting', fixed),
    v2Route('GET', '/v2/models/{model}/trace/setting', tracesOfModel),
    v2Route('POST', '/v2/models/{model}/trace/setting', fixed),
    v2Route('GET', '/v2/logging', (request) => answerJson(request, LOG_SETTINGS)),
    v2Route('POST', '/v2/logging', fixed),
    ...regions,
  ];
}
