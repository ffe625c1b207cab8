/** What one metric is: the source of its HELP and TYPE lines and of docs/reference/metrics.md. */
export interface MetricDefinition {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly labels: readonly string[];
  /** `gimbal`: ours. `process`: names of the Prometheus clients. `triton`: only with `metrics.compat: [triton]`. */
  readonly group: 'gimbal' | 'process' | 'triton';
}

/** Seconds. Fine where batches of small models live, coarse up to a minute. */
export const DURATION_BUCKETS = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30, 60,
] as const;
export const LOAD_BUCKETS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300] as const;
export const BATCH_BUCKETS = [1, 2, 4, 8, 16, 32, 64, 128, 256] as const;
export const GC_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1] as const;

const gimbal = definer('gimbal');
const process = definer('process');
const triton = definer('triton');

export const METRICS = {
  requests: gimbal('counter', 'gimbal_requests_total', [
    'model',
    'version',
    'variant',
    'outcome',
    'protocol',
  ])(
    'Finished requests by what they ended as: ok, degraded, client_error, error, timeout, shed, cancelled. model is empty when no model was reached.',
  ),
  requestDuration: gimbal('histogram', 'gimbal_request_duration_seconds', [
    'model',
    'version',
    'variant',
    'outcome',
  ])('Time from the request head to the answer, in seconds; waiting in the queue is included.'),
  stageDuration: gimbal('histogram', 'gimbal_stage_duration_seconds', ['model', 'version', 'stage'])(
    'Time that a request spent in each stage, in seconds: queue, batch_wait (transport and companions), preprocess, infer, postprocess. Only requests that were run.',
  ),
  batchSize: gimbal('histogram', 'gimbal_batch_size', ['model', 'version'])('Rows in one run of a model.'),
  queueDepth: gimbal('gauge', 'gimbal_queue_depth', ['model', 'lane'])('Works waiting for a runner.'),
  queueAge: gimbal('gauge', 'gimbal_queue_oldest_age_seconds', ['model', 'lane'])(
    'Age of the work that has waited longest, in seconds.',
  ),
  inflight: gimbal('gauge', 'gimbal_inflight', ['model', 'version'])(
    'Calls that have been admitted and not yet closed.',
  ),
  shed: gimbal('counter', 'gimbal_shed_total', ['model', 'reason'])(
    'Requests refused because of our own state: queue_full, deadline, quota, drain, loading.',
  ),
  lostRuns: gimbal('counter', 'gimbal_lost_runs_total', ['model', 'cause'])(
    'Runs of requests that came to nothing: crashed, hung, killed, oom-killed, out-of-memory, stopped. They were run again where that is safe.',
  ),
  cacheLookups: gimbal('counter', 'gimbal_answer_cache_lookups_total', ['result'])(
    'Requests of models with `cache: true`: hit, joined (another request ran the same input), miss, stale (an old answer instead of an error).',
  ),
  cacheEvictions: gimbal(
    'counter',
    'gimbal_answer_cache_evictions_total',
    [],
  )('Kept answers that left for others.'),
  cacheBytes: gimbal('gauge', 'gimbal_answer_cache_bytes', [])('Memory of all kept answers.'),
  cacheEntries: gimbal('gauge', 'gimbal_answer_cache_entries', [])('Answers that are kept.'),
  quarantineInputs: gimbal(
    'gauge',
    'gimbal_quarantine_inputs',
    [],
  )('Inputs that are refused because they crashed a model.'),
  quarantineHits: gimbal(
    'counter',
    'gimbal_quarantine_hits_total',
    [],
  )('Requests refused because their input is in quarantine.'),
  memoryPressure: gimbal('gauge', 'gimbal_memory_pressure', ['level'])(
    '1 for the level of memory pressure (calm, tight: sheddable requests are refused, critical: all but critical ones), 0 for the others.',
  ),
  memoryUsed: gimbal(
    'gauge',
    'gimbal_memory_used_bytes',
    [],
  )('Memory in use where the limit is counted: this cgroup with all runners, or the machine.'),
  memoryLimit: gimbal('gauge', 'gimbal_memory_limit_bytes', [])('The limit that it counts against.'),
  degradationRung: gimbal('gauge', 'gimbal_degradation_rung', ['model', 'version'])(
    'Position on the degradation ladder: 0 is all on the best rung, 1.25 three quarters on rung 1.',
  ),
  degradedSeconds: gimbal('counter', 'gimbal_degraded_seconds_total', ['model', 'version', 'rung'])(
    'Seconds in which a rung below the best took a share of the requests.',
  ),
  breakerState: gimbal('gauge', 'gimbal_breaker_state', ['target', 'state'])(
    '1 for the state of a breaker (closed, open, half-open), 0 for the others.',
  ),
  loadDuration: gimbal('histogram', 'gimbal_model_load_duration_seconds', ['model', 'version'])(
    'Time from the start of a load to ready, in seconds: sessions, warm-up and self-profile included.',
  ),
  modelState: gimbal('gauge', 'gimbal_model_state', ['model', 'version', 'state'])(
    '1 for the state that a version is in (loading, ready, unloading, unavailable, failed), 0 for the others.',
  ),
  runnerState: gimbal('gauge', 'gimbal_runner_state', ['model', 'version', 'variant', 'state'])(
    'Runners of a variant in each state.',
  ),
  runnerRestarts: gimbal('counter', 'gimbal_runner_restarts_total', ['model', 'version', 'variant'])(
    'Times that a runner of the variant was started again after its process ended.',
  ),
  runnerMemory: gimbal('gauge', 'gimbal_runner_resident_memory_bytes', ['model', 'version', 'variant'])(
    'Resident memory of the runners of a variant, in bytes.',
  ),
  arenaUsed: gimbal('gauge', 'gimbal_arena_used_bytes', ['model', 'version'])(
    'Shared memory now holding inputs and outputs, in bytes.',
  ),
  arenaCapacity: gimbal('gauge', 'gimbal_arena_capacity_bytes', ['model', 'version'])(
    'Shared memory reserved for inputs and outputs, in bytes.',
  ),
  deviceMonitor: gimbal('gauge', 'gimbal_device_monitor_state', ['state'])(
    '1 for the state that the device monitor is in (idle, cpu-only, starting, watching, restarting, unmonitored, stopped), 0 for the others.',
  ),
  deviceSampleAge: gimbal(
    'gauge',
    'gimbal_device_sample_age_seconds',
    [],
  )('Age of the latest sample of the devices, in seconds. Readings older than 10 s are left out.'),
  deviceInfo: gimbal('gauge', 'gimbal_device_info', ['device', 'index', 'name', 'driver'])(
    'Always 1; the labels say what the device is. Join by device, which is its uuid.',
  ),
  deviceState: gimbal('gauge', 'gimbal_device_state', ['device', 'state'])(
    '1 for the state that a device is in (healthy, pressured, faulted), 0 for the others.',
  ),
  devicePressure: gimbal('gauge', 'gimbal_device_pressure_ratio', ['device'])(
    'How strongly a device presses the degradation ladder, 0 to 1: by scarce memory or heat; 1 while it is faulted.',
  ),
  deviceMemoryTotal: gimbal('gauge', 'gimbal_device_memory_total_bytes', ['device'])(
    'Memory of the device, in bytes.',
  ),
  deviceMemoryUsed: gimbal('gauge', 'gimbal_device_memory_used_bytes', ['device'])(
    'Memory of the device that is in use, by whomever, in bytes.',
  ),
  deviceUtilization: gimbal('gauge', 'gimbal_device_utilization_ratio', ['device'])(
    'Share of the last sample period in which something ran on the device, 0 to 1. Average it over devices, never sum.',
  ),
  deviceTemperature: gimbal('gauge', 'gimbal_device_temperature_celsius', ['device'])(
    'Temperature of the device, in degrees Celsius.',
  ),
  devicePower: gimbal('gauge', 'gimbal_device_power_watts', ['device'])(
    'Power that the device draws, in watts.',
  ),
  devicePowerLimit: gimbal('gauge', 'gimbal_device_power_limit_watts', ['device'])(
    'Power that the device may draw, in watts.',
  ),
  deviceEnergy: gimbal('counter', 'gimbal_device_energy_joules_total', ['device'])(
    'Energy that the device has used since its driver was loaded, in joules.',
  ),
  deviceMemoryErrors: gimbal('counter', 'gimbal_device_uncorrected_memory_errors_total', ['device'])(
    'Errors of the device memory that could not be corrected, since its driver was loaded.',
  ),
  deviceXids: gimbal('counter', 'gimbal_device_xid_errors_total', ['device', 'xid'])(
    'Critical errors (NVIDIA Xid codes) that the driver reported since the server started; at most one a code and sample is seen.',
  ),
  devicePermits: gimbal('gauge', 'gimbal_device_permits', ['device'])(
    'Batches that may be on the device at a time: 0.8 of the free memory by the measured peak of a batch.',
  ),
  devicePermitsHeld: gimbal('gauge', 'gimbal_device_permits_held', ['device'])(
    'Batches that are on the device now.',
  ),
  connections: gimbal('gauge', 'gimbal_connections', [])('Open client connections.'),
  logDropped: gimbal(
    'counter',
    'gimbal_log_lines_dropped_total',
    [],
  )('Log lines dropped because the reader of the log was slower than the server.'),
  seriesDropped: gimbal(
    'counter',
    'gimbal_metrics_series_dropped_total',
    [],
  )('Observations counted under the label value "other" because their metric had reached its series cap.'),
  buildInfo: gimbal('gauge', 'gimbal_build_info', ['version', 'node', 'runtime'])(
    'Always 1; the labels say what is running.',
  ),

  lagP50: process(
    'gauge',
    'nodejs_eventloop_lag_p50_seconds',
    [],
  )('Median delay of the event loop over the last minute, in seconds.'),
  lagP99: process(
    'gauge',
    'nodejs_eventloop_lag_p99_seconds',
    [],
  )('99th percentile of the event loop delay over the last minute, in seconds.'),
  lagMax: process(
    'gauge',
    'nodejs_eventloop_lag_max_seconds',
    [],
  )('Worst delay of the event loop over the last minute, in seconds.'),
  gcDuration: process('histogram', 'nodejs_gc_duration_seconds', ['kind'])(
    'Pauses of the garbage collector, in seconds.',
  ),
  cpuUser: process('counter', 'process_cpu_user_seconds_total', [])('CPU time in user code, in seconds.'),
  cpuSystem: process(
    'counter',
    'process_cpu_system_seconds_total',
    [],
  )('CPU time in the kernel, in seconds.'),
  cpu: process('counter', 'process_cpu_seconds_total', [])('CPU time of the host process, in seconds.'),
  startTime: process(
    'gauge',
    'process_start_time_seconds',
    [],
  )('When the process started, in seconds since the Unix epoch.'),
  residentMemory: process('gauge', 'process_resident_memory_bytes', [])('Resident memory, in bytes.'),
  heapUsed: process('gauge', 'nodejs_heap_size_used_bytes', [])('JavaScript heap in use, in bytes.'),
  heapTotal: process('gauge', 'nodejs_heap_size_total_bytes', [])('JavaScript heap reserved, in bytes.'),
  externalMemory: process('gauge', 'nodejs_external_memory_bytes', [])('Memory outside the heap, in bytes.'),
  openDescriptors: process('gauge', 'process_open_fds', [])('Open file descriptors.'),
  maxDescriptors: process('gauge', 'process_max_fds', [])('Limit of open file descriptors.'),

  tritonSuccess: triton('counter', 'nv_inference_request_success', ['model', 'version'])(
    'Number of successful inference requests, all batch sizes',
  ),
  tritonFailure: triton('counter', 'nv_inference_request_failure', ['model', 'version', 'reason'])(
    'Number of failed inference requests, all batch sizes',
  ),
  tritonInferences: triton('counter', 'nv_inference_count', ['model', 'version'])(
    'Number of inferences performed (does not include cached requests)',
  ),
  tritonExecutions: triton('counter', 'nv_inference_exec_count', ['model', 'version'])(
    'Number of model executions performed (does not include cached requests)',
  ),
  tritonPending: triton('gauge', 'nv_inference_pending_request_count', ['model', 'version'])(
    'Instantaneous number of pending requests awaiting execution per-model.',
  ),
  tritonRequestUs: triton('counter', 'nv_inference_request_duration_us', ['model', 'version'])(
    'Cumulative inference request duration in microseconds (includes cached requests)',
  ),
  tritonQueueUs: triton('counter', 'nv_inference_queue_duration_us', ['model', 'version'])(
    'Cumulative inference queuing duration in microseconds (includes cached requests)',
  ),
  tritonInputUs: triton('counter', 'nv_inference_compute_input_duration_us', ['model', 'version'])(
    'Cumulative compute input duration in microseconds (does not include cached requests)',
  ),
  tritonInferUs: triton('counter', 'nv_inference_compute_infer_duration_us', ['model', 'version'])(
    'Cumulative compute inference duration in microseconds (does not include cached requests)',
  ),
  tritonOutputUs: triton('counter', 'nv_inference_compute_output_duration_us', ['model', 'version'])(
    'Cumulative inference compute output duration in microseconds (does not include cached requests)',
  ),
  tritonLoadSeconds: triton('gauge', 'nv_model_load_duration_secs', ['model', 'version'])(
    'Model load time in seconds',
  ),
  tritonGpuUtilization: triton('gauge', 'nv_gpu_utilization', ['gpu_uuid'])(
    'GPU utilization rate [0.0 - 1.0)',
  ),
  tritonGpuMemoryTotal: triton('gauge', 'nv_gpu_memory_total_bytes', ['gpu_uuid'])(
    'GPU total memory, in bytes',
  ),
  tritonGpuMemoryUsed: triton('gauge', 'nv_gpu_memory_used_bytes', ['gpu_uuid'])('GPU used memory, in bytes'),
  tritonGpuPower: triton('gauge', 'nv_gpu_power_usage', ['gpu_uuid'])('GPU power usage in watts'),
  tritonGpuPowerLimit: triton('gauge', 'nv_gpu_power_limit', ['gpu_uuid'])(
    'GPU power management limit in watts',
  ),
  tritonGpuEnergy: triton('counter', 'nv_energy_consumption', ['gpu_uuid'])(
    'GPU energy consumption in joules since the driver was loaded',
  ),
} as const satisfies Record<string, MetricDefinition>;

/** Curried so that the long help text stands last and alone on its line. */
function definer(group: MetricDefinition['group']) {
  return (type: MetricDefinition['type'], name: string, labels: readonly string[]) =>
    (help: string): MetricDefinition => ({ name, type, help, labels, group });
}
