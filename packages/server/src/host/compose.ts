import type { CatalogueEntry, GimbalError, LadderReport, RunnerPool, VersionSpec } from '@gimbal/core';
import type { Configuration } from '@gimbal/core/config';
import { adminRoutes } from '../edge/admin/admin-routes.ts';
import { drillRoutes } from '../edge/admin/drill-routes.ts';
import type { WhyPort } from '../edge/admin/why-routes.ts';
import { Router } from '../edge/front/router.ts';
import { createGrpcServer, type GrpcServer } from '../edge/grpc/grpc-server.ts';
import type { EdgePorts } from '../edge/route.ts';
import { createRemotePool } from '../engines/remote-pool.ts';
import { type DrillDesk, drillDesk } from '../faults/drill-port.ts';
import { FaultBoard } from '../faults/fault-board.ts';
import { targetWithDrills } from '../faults/full-disk.ts';
import { createHttpServer, type HttpServer } from '../http1/server.ts';
import { Repository, type RepositoryReading } from '../repository/repository.ts';
import { versionDefaults } from '../repository/version-defaults.ts';
import { RepositoryWatcher } from '../repository/watcher.ts';
import { createRunnerPool } from '../supervisor/runner-pool.ts';
import type { DecisionLog } from '../telemetry/decision-log.ts';
import { streamTarget } from '../telemetry/line-sink.ts';
import { redacted } from '../telemetry/redaction.ts';
import { createTelemetry, type Telemetry } from '../telemetry/telemetry.ts';
import { openArena } from '../transport/open-arena.ts';
import { Catalogue } from './catalogue.ts';
import { Dispatcher } from './dispatcher.ts';
import { Drain } from './drain.ts';
import { duplicateDescriptor } from './duplicate-descriptor.ts';
import { Guards } from './guards.ts';
import type { HostEvent } from './host-event.ts';
import { LoadGate } from './load-gate.ts';
import { readMaxOpenFiles } from './open-files.ts';
import { publicRoutes } from './public-routes.ts';
import { logRunner } from './runner-log.ts';
import type { PoolFactory } from './served-variants.ts';
import { ServedVersion } from './served-version.ts';
import { systemClock, systemRandom } from './system-ports.ts';
import { breakableRunners, metricSources, runnerReports } from './telemetry-sources.ts';

/** Requests of an old version that a replaced or unloaded one may still finish. */
const RETIRE_GRACE_MS = 30_000;

export interface HostOptions {
  /** `models.path` is absolute. */
  readonly configuration: Configuration;
  /** Version of the server in metadata and metrics. */
  readonly version: string;
  /** Pretty logs may be coloured. */
  readonly colours: boolean;
  readonly onEvent: (event: HostEvent) => void;
}

/** A running server. Its ports are open; models may still be loading. */
export interface Host {
  catalogue(): readonly CatalogueEntry[];
  /** Drains and resolves when nothing is left; a second call hurries. */
  stop(): Promise<void>;
}

/** Runners that load at one time after the start: what crashed together must not load together. */
const RESTARTS_AT_ONCE = 2;

/** Puts the whole program together: the only place that sees everything. Fails with MODEL_UNAVAILABLE or INTERNAL. */
export async function startHost(options: HostOptions): Promise<Host> {
  return new Composition(options).start();
}

class Composition {
  readonly #options: HostOptions;
  readonly #onEvent: (event: HostEvent) => void;
  readonly #telemetry: Telemetry;
  readonly #dispatcher = new Dispatcher(systemClock);
  readonly #repository: Repository;
  readonly #watcher: RepositoryWatcher;
  readonly #catalogue: Catalogue;
  readonly #httpServer: HttpServer;
  readonly #adminServer: HttpServer;
  readonly #grpcServer: GrpcServer;
  readonly #drain: Drain;
  readonly #guards: Guards;
  /** Threads are planned for one runner on all cores: one load at a time fills them. */
  readonly #loadGate = new LoadGate(1);
  /** Not the load gate, behind which the first start of a pool already is. */
  readonly #restartGate = new LoadGate(RESTARTS_AT_ONCE);
  readonly #faults: FaultBoard;
  readonly #drills: DrillDesk;
  #loads = 0;

  constructor(options: HostOptions) {
    const { configuration } = options;
    this.#options = options;
    this.#onEvent = options.onEvent;
    this.#repository = new Repository(configuration.models.path, versionDefaults(configuration));
    this.#catalogue = new Catalogue({
      create: (spec) => this.#createVersion(spec),
      reread: async () => (await this.#reread()).versions,
      required: configuration.models.required,
      retireGraceMs: RETIRE_GRACE_MS,
      events: this.#catalogueEvents(),
    });
    this.#faults = this.#createFaultBoard();
    this.#drills = drillDesk(this.#faults);
    this.#telemetry = this.#createTelemetry();
    this.#guards = new Guards({
      cache: configuration.cache,
      log: this.#telemetry.log,
      environment: process.env,
      host: () => ({
        requests: this.#httpServer.counters.requests,
        residentBytes: process.memoryUsage.rss(),
      }),
      runners: () => runnerReports(this.#catalogue, this.#dispatcher),
    });
    this.#watcher = this.#createWatcher();
    const ports = this.#edgePorts();
    this.#httpServer = this.#createServer(new Router(publicRoutes(ports, this.#adminPort()), ports));
    this.#grpcServer = createGrpcServer({ ports, settings: configuration.grpc });
    this.#adminServer = this.#createServer(
      new Router(
        [
          ...adminRoutes({ port: this.#adminPort(), inference: this.#catalogue }),
          ...drillRoutes(this.#drills),
        ],
        ports,
      ),
    );
    this.#drain = this.#createDrain();
  }

  async start(): Promise<Host> {
    const { http, admin, grpc } = this.#options.configuration;
    const reading = await this.#repository.read();
    // The ports open before the models are there, so that probes get an honest answer.
    const httpPort = await this.#httpServer.listen({ host: http.host, port: http.port });
    const adminPort = await this.#adminServer.listen({ host: admin.host, port: admin.port });
    const grpcPort = await this.#grpcServer.listen({ host: grpc.host, port: grpc.port });
    this.#guards.start();
    void this.#load(reading, {
      http: urlOf(http.host, httpPort.port),
      admin: urlOf(admin.host, adminPort.port),
      grpc: urlOf(grpc.host, grpcPort.port).replace('http://', ''),
    });
    return {
      catalogue: () => this.#catalogue.catalogue(),
      stop: () => {
        if (!this.#drain.started) this.#onEvent({ event: 'draining' });
        return this.#drain.request();
      },
    };
  }

  /** The first load; readiness follows it. */
  async #load(
    reading: RepositoryReading,
    urls: { http: string; admin: string; grpc: string },
  ): Promise<void> {
    for (const note of reading.notes) this.#telemetry.log.info('Note on the model repository', { note });
    await this.#catalogue.start(reading.versions);
    if (this.#drain.started) return;
    if (this.#options.configuration.models.watch) await this.#watcher.start(reading);
    if (this.#catalogue.served().every((version) => version.state !== 'ready')) {
      this.#onEvent({ event: 'unusable', reason: this.#whyUnusable() });
    } else if (this.#catalogue.ready) {
      this.#onEvent({ event: 'ready', ...urls, pid: process.pid });
    }
  }

  /** Through the watcher, so that it does not tell later what was read now; alone where nothing is watched. */
  #reread(): Promise<RepositoryReading> {
    const { watch } = this.#options.configuration.models;
    return watch ? this.#watcher.readNow() : this.#repository.read();
  }

  #whyUnusable(): string {
    const reasons = this.#catalogue
      .catalogue()
      .flatMap(({ versions, failures }) => [
        ...failures.map(({ reason }) => reason),
        ...versions.map(({ reason }) => reason ?? ''),
      ]);
    return reasons.find((reason) => reason !== '') ?? 'Cannot serve: there is no model in the repository';
  }

  #createTelemetry(): Telemetry {
    const { log, metrics } = this.#options.configuration;
    const terminal = process.stderr.isTTY === true;
    const pretty = log.format === 'pretty' || (log.format === 'auto' && terminal);
    return createTelemetry({
      clock: systemClock,
      sources: metricSources(
        () => this.#catalogue,
        () => this.#httpServer.counters.open + this.#grpcServer.counters.connections,
        { devices: () => this.#guards.devices.status(), guards: () => this.#guards.rows(this.#ladders()) },
      ),
      log: {
        target: this.#options.configuration.drills
          ? targetWithDrills(streamTarget(process.stderr), this.#faults)
          : streamTarget(process.stderr),
        level: log.level,
        access: log.access,
        format: pretty ? (this.#options.colours ? 'pretty-colour' : 'pretty') : 'json',
      },
      metrics: { compat: metrics.compat, thresholdsSeconds: [] },
      build: { version: this.#options.version, node: process.version, runtime: 'onnxruntime-node' },
    });
  }

  #createFaultBoard(): FaultBoard {
    return new FaultBoard({
      enabled: this.#options.configuration.drills,
      clock: systemClock,
      runners: () => breakableRunners(this.#catalogue),
      onChange: ({ kind, fault }) => {
        const { kind: what, ...settings } = fault.fault;
        const facts = { fault: fault.id, what, ...settings, target: fault.target, runners: fault.runners };
        const message = kind === 'injected' ? 'A drill has begun' : 'A drill has ended';
        this.#telemetry.log.warn(message, facts);
      },
    });
  }

  #createWatcher(): RepositoryWatcher {
    const { models } = this.#options.configuration;
    return new RepositoryWatcher({
      repository: this.#repository,
      clock: systemClock,
      settleMs: models.settleMs,
      scanIntervalMs: models.scanIntervalMs,
      mode: 'events',
      onChanges: (changes) => this.#catalogue.apply(changes),
      onTrouble: (error) =>
        this.#telemetry.log.warn('Cannot read the model repository; what is loaded serves on', {
          reason: reasonOf(error),
        }),
    });
  }

  #createVersion(spec: VersionSpec): ServedVersion {
    const { limits, stream, transport } = this.#options.configuration;
    const { arena, reason } = openArena(limits.arenaBytes, transport);
    if (reason !== undefined) {
      this.#telemetry.log.warn('No shared memory here: tensors travel through sockets', { reason });
    }
    this.#loads += 1;
    return new ServedVersion({
      key: `${spec.model}/${spec.version}#${this.#loads}`,
      spec,
      arena,
      dispatcher: this.#dispatcher,
      clock: systemClock,
      createPool: this.#createPool,
      maxQueueMs: limits.maxQueueMs,
      stream,
      loadGate: this.#loadGate,
      decisions: {
        decided: (record) => {
          this.#telemetry.metrics.decided(record);
          this.#telemetry.decisions.decided(record);
        },
      },
      answers: this.#guards.answers,
      poison: this.#guards.poison,
      pressure: this.#guards.memory,
      onNotice: (of, notice) => logRunner(this.#telemetry.log, of, notice),
    });
  }

  readonly #createPool: PoolFactory = (request) =>
    request.variant.remote ? this.#createRemotePool(request) : this.#createRunnerPool(request);

  #createRemotePool({ spec, rung, arena, events }: Parameters<PoolFactory>[0]): RunnerPool {
    return createRemotePool({
      spec,
      variant: rung,
      arena,
      events,
      clock: systemClock,
      random: systemRandom,
      environment: process.env,
      onEndpoint: (view) => this.#telemetry.log.info('An endpoint of a remote engine changed', { ...view }),
    });
  }

  #createRunnerPool({ spec, rung, arena, events }: Parameters<PoolFactory>[0]): RunnerPool {
    return createRunnerPool({
      spec,
      variant: rung,
      threads: spec.runners.threads === 'auto' ? 1 : spec.runners.threads,
      arena,
      events,
      clock: systemClock,
      random: systemRandom,
      providers: ['auto'],
      limits: { hangFloorMs: hangFloorMs(spec) },
      gate: this.#restartGate,
      drills: this.#options.configuration.drills,
      onLine: ({ runner, stream, text }) =>
        this.#telemetry.log.info('A runner printed', { runner, stream, text }),
    });
  }

  #catalogueEvents(): ConstructorParameters<typeof Catalogue>[0]['events'] {
    return {
      onLoading: ({ model, version }) => this.#onEvent({ event: 'model', model, version, state: 'loading' }),
      onReady: ({ spec: { model, version }, loadMs }) => {
        this.#telemetry.log.info('A version is ready', { model, version, load_ms: Math.round(loadMs) });
        this.#telemetry.metrics.loaded({ model, version, durationMs: loadMs });
        this.#onEvent({ event: 'model', model, version, state: 'ready' });
      },
      onFailed: ({ model, version }, error) => {
        this.#telemetry.log.error('Cannot load a version', { model, version, err: error });
        this.#onEvent({ event: 'model', model, version, state: 'unavailable', reason: error.message });
      },
      onRetired: ({ model, version }) => {
        this.#telemetry.log.info('A version was unloaded', { model, version });
        this.#onEvent({ event: 'model', model, version, state: 'unloaded' });
      },
    };
  }

  #edgePorts(): EdgePorts {
    const { limits, stream, defaultModel } = this.#options.configuration;
    return {
      inference: this.#catalogue,
      clock: systemClock,
      random: systemRandom,
      observer: this.#telemetry.observer,
      limits,
      stream,
      server: { name: 'gimbal', version: this.#options.version },
      defaultModel,
    };
  }

  #adminPort(): Parameters<typeof adminRoutes>[0]['port'] {
    return {
      metrics: (format) => this.#telemetry.metrics.page(format),
      runners: () => runnerReports(this.#catalogue, this.#dispatcher),
      queues: () =>
        this.#catalogue.served().flatMap((version) => {
          const lanes = version.queue();
          const { model, version: name } = version.spec;
          const depth = lanes.reduce((sum, lane) => sum + lane.depth, 0);
          return [
            { model, version: name, depth, oldestAgeMs: Math.max(...lanes.map((lane) => lane.oldestAgeMs)) },
          ];
        }),
      devices: () => this.#guards.devices.status(),
      ladders: () => this.#ladders(),
      pinLadder: (model, rung, forMs) => {
        for (const version of this.#catalogue.served())
          if (version.spec.model === model) version.pin(rung, forMs);
      },
      releaseLadder: (model) => {
        for (const version of this.#catalogue.served()) if (version.spec.model === model) version.release();
      },
      quarantined: () => this.#guards.poison.quarantine.list(systemClock.now()),
      releaseInput: (fingerprint) => this.#guards.poison.quarantine.release(fingerprint),
      why: whyPort(this.#telemetry.decisions),
      reload: (model) => this.#catalogue.reload(model),
      configuration: () => redacted(this.#options.configuration),
    };
  }

  #ladders(): LadderReport[] {
    return this.#catalogue.served().flatMap((version) => version.ladder() ?? []);
  }

  #createServer(router: Router): HttpServer {
    return createHttpServer({
      listener: router.listener,
      limits: this.#options.configuration.limits,
      clock: systemClock,
      draining: () => this.#catalogue.draining,
      maxOpenFiles: readMaxOpenFiles(),
      duplicateDescriptor,
      onAcceptTrouble: ({ code, connections, maxOpenFiles }) =>
        this.#telemetry.log.warn('Connections were refused: too few files may be open', {
          code,
          connections,
          max_open_files: maxOpenFiles,
        }),
    });
  }

  #createDrain(): Drain {
    return new Drain(
      {
        announce: () => this.#catalogue.drain(),
        closeListeners: async (graceMs) => {
          await this.#watcher.close();
          await Promise.all([this.#httpServer.close(graceMs), this.#grpcServer.close(graceMs)]);
        },
        stopRunners: (graceMs) => this.#catalogue.stop(graceMs),
        flush: async () => {
          await this.#guards.stop();
          this.#faults.close();
          this.#dispatcher.close();
          await this.#adminServer.close(0);
          this.#onEvent({ event: 'stopped' });
          await this.#telemetry.close();
        },
      },
      this.#options.configuration.drain,
      systemClock,
    );
  }
}

/**
 * A run is never taken for hung before this. Where the cost depends on the input (photos and texts of any size), the
 * profile knows only the size that it was measured at, so honest large inputs need far more room.
 */
function hangFloorMs({ signature }: VersionSpec): number {
  const fixed = signature.inputs.every(({ shape }) => shape.slice(1).every((length) => length >= 0));
  return fixed ? 1_000 : 10_000;
}

function whyPort(log: DecisionLog): WhyPort {
  return {
    find: (requestId) => log.find(requestId),
    recent: ({ sinceMs, model }) =>
      log.recent({ sinceWallTimeMs: systemClock.wallTimeMs() - sinceMs, model }),
    get rememberedMs() {
      return systemClock.wallTimeMs() - (log.reachesTo() ?? systemClock.wallTimeMs());
    },
  };
}

/** The operating system's own code says more than a general message. */
function reasonOf(error: GimbalError): string {
  const { code } = (error.cause ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : error.message;
}

function urlOf(host: string, port: number): string {
  const shown = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return `http://${shown.includes(':') ? `[${shown}]` : shown}:${port}`;
}
