import { GimbalError, type InferencePort, isGimbalError, toGimbalError } from '@gimbal/core';
import type { handleServerStreamingCall, ServerWritableStream } from '@grpc/grpc-js';
import type { EdgePorts } from '../route.ts';
import { failedStatus } from './failure.ts';
import { INFERENCE_SERVICE, type Message, type methodsOf } from './protocol.ts';
import { decoded, type UnaryMethod } from './unary-methods.ts';

/** How often watched states are compared with what was told; they have no events of their own. */
const COMPARE_MS = 1_000;

/** Watchers of one server: each costs a stream and a comparison a second. */
const MAX_WATCHERS = 1_024;

export type ServingStatus = 'SERVING' | 'NOT_SERVING' | 'SERVICE_UNKNOWN';

/**
 * `""` is the server itself: it serves until it drains, so that probes do not restart it while models load.
 * `inference.GRPCInferenceService` is readiness; any other name is a model's.
 */
export function servingStatus(inference: InferencePort, service: string): ServingStatus {
  if (inference.draining) return 'NOT_SERVING';
  if (service === '') return 'SERVING';
  if (service === INFERENCE_SERVICE) return inference.ready ? 'SERVING' : 'NOT_SERVING';
  try {
    return inference.find(service, undefined).state === 'ready' ? 'SERVING' : 'NOT_SERVING';
  } catch (error) {
    if (isGimbalError(error) && error.code === 'MODEL_NOT_FOUND') return 'SERVICE_UNKNOWN';
    return 'NOT_SERVING';
  }
}

interface Watcher {
  readonly stream: ServerWritableStream<Buffer, Message>;
  readonly service: string;
  told: ServingStatus;
}

/** `grpc.health.v1.Health`. */
export class HealthCheck {
  readonly #ports: EdgePorts;
  readonly #methods: ReturnType<typeof methodsOf>;
  readonly #watchers = new Set<Watcher>();
  #timer: NodeJS.Timeout | undefined;

  constructor(ports: EdgePorts, methods: ReturnType<typeof methodsOf>) {
    this.#ports = ports;
    this.#methods = methods;
  }

  readonly check: UnaryMethod = (request) => {
    const service = String(request.service ?? '');
    const status = servingStatus(this.#ports.inference, service);
    if (status === 'SERVICE_UNKNOWN') {
      throw new GimbalError(
        'MODEL_NOT_FOUND',
        `Cannot tell the health of "${service.slice(0, 128)}": there is no such service or model`,
      );
    }
    return { status };
  };

  readonly watch: handleServerStreamingCall<Buffer, Message> = (stream) => {
    try {
      const definition = this.#methods.Watch;
      if (!definition) throw new GimbalError('UNSUPPORTED', 'Cannot watch: the method is missing');
      if (this.#watchers.size >= MAX_WATCHERS) {
        throw new GimbalError(
          'OVERLOADED',
          `Cannot watch: there are ${MAX_WATCHERS} watchers already, expected fewer`,
          { retryAfterMs: COMPARE_MS },
        );
      }
      const service = String(decoded(definition, stream.request).service ?? '');
      const watcher = { stream, service, told: servingStatus(this.#ports.inference, service) };
      stream.write({ status: watcher.told });
      this.#watchers.add(watcher);
      stream.once('cancelled', () => this.#leave(watcher));
      this.#timer ??= setInterval(this.compare, COMPARE_MS).unref();
    } catch (error) {
      stream.emit('error', failedStatus(toGimbalError(error), '', this.#ports.random));
    }
  };

  /** Tells watchers what has changed. */
  readonly compare = (): void => {
    for (const watcher of this.#watchers) {
      const status = servingStatus(this.#ports.inference, watcher.service);
      if (status === watcher.told) continue;
      watcher.told = status;
      watcher.stream.write({ status });
    }
  };

  /** Watchers are told, and their streams end: nothing waits for them while the server drains. */
  close(): void {
    this.compare();
    for (const { stream } of this.#watchers) stream.end();
    this.#watchers.clear();
    this.#stopTimer();
  }

  #leave(watcher: Watcher): void {
    this.#watchers.delete(watcher);
    if (this.#watchers.size === 0) this.#stopTimer();
  }

  #stopTimer(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
