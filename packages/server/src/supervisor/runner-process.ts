import {
  assert,
  type BatchJob,
  type BatchReport,
  type CostProfile,
  type FaultOrder,
  GimbalError,
  type Instant,
  type MemorySample,
  type RunnerExit,
  type RunnerState,
  type RunnerView,
  type Signature,
  type Span,
} from '@gimbal/core';
import {
  type LoadReport,
  PROTOCOL,
  type RunnerMessage,
  readRunnerMessage,
} from '../transport/control-message.ts';
import { Doorbell } from '../transport/doorbell.ts';
import { type FrameKind, MAX_FRAME_BYTES } from '../transport/frame-buffer.ts';
import { MalformedFrame } from '../transport/frame-cursor.ts';
import { readPiece, writeCancel, writeCredit } from '../transport/piece-frame.ts';
import { batchIdOf, readReport } from '../transport/report-frame.ts';
import { runFrameBytes, writeRun } from '../transport/run-frame.ts';
import { type HangLimit, hangLimit } from './hang-limit.ts';
import { LentReport, tooLargeReport } from './lent-report.ts';
import { LineSplitter } from './line-splitter.ts';
import { OutputEstimate } from './output-estimate.ts';
import type { ProcessEvents, ProcessOptions } from './process-options.ts';
import { type ChildExit, type RunnerChild, startChild } from './runner-child.ts';
import {
  brokeProtocol,
  hung,
  lossOf,
  type RunnerLoss,
  silent,
  speaksOfMemory,
  stopped,
  unavailable,
} from './runner-end.ts';
import { StreamInFlight } from './stream-in-flight.ts';

/** Pings whose lower quartile becomes the fixed cost of a batch: the first ones run code that is not compiled yet. */
const CALIBRATION_PINGS = 20;
/** A process that is gone closes its doorbell; one that left it open to a child of its own is not waited for longer. */
const DOORBELL_GRACE_MS = 200;
/** A process that aborts for want of memory says so right before. */
const LAST_WORDS_MS = 2000;
/** Room for everything in a run's frame but the tensors. */
const MAX_RUN_BYTES = MAX_FRAME_BYTES - 16 * 1024 * 1024;
const NEVER_HUNG: HangLimit = { at: Number.POSITIVE_INFINITY, because: 'slow' };

interface BatchInFlight {
  readonly job: BatchJob;
  readonly space: Span | undefined;
  readonly hang: HangLimit;
  readonly stream: StreamInFlight | undefined;
  /** How much later than its limit it counts as hung: time in which the host was away. */
  forgivenMs: number;
}

/** One runner: a process and the conversation with it, from spawn to exit. */
export class RunnerProcess {
  readonly id: string;
  readonly #options: ProcessOptions;
  readonly #events: ProcessEvents;
  readonly #child: RunnerChild;
  readonly #doorbell: Doorbell;
  readonly #lines: Readonly<Record<'stdout' | 'stderr', LineSplitter>>;
  #state: RunnerState = 'starting';
  #loaded: LoadReport | undefined;
  #signature: Signature;
  #estimate: OutputEstimate | undefined;
  #batch: BatchInFlight | undefined;
  #batches = 0;
  /** Parts of the batches that it has finished. */
  #requests = 0;
  #residentBytes = 0;
  #readyAt: Instant | undefined;
  /** Of the state that is limited in time: starting, loading, stopping, or gone with an open doorbell. */
  #limitAt: Instant;
  #heardAt: Instant;
  #pingId = 0;
  #pingSentAt: Instant | undefined;
  readonly #roundTripsMs: number[] = [];
  #stopWhenIdle = false;
  #exit: ChildExit | undefined;
  #doorbellClosed = false;
  #gone = false;
  /** Why we have ended it. */
  #loss: RunnerLoss | undefined;
  #cause: RunnerExit['cause'] = 'crashed';
  #spokeOfMemoryAt: Instant = Number.NEGATIVE_INFINITY;

  constructor(options: ProcessOptions, events: ProcessEvents) {
    this.id = options.id;
    this.#options = options;
    this.#events = events;
    this.#signature = options.spec.signature;
    const now = this.#now();
    this.#limitAt = now + options.limits.startMs;
    this.#heardAt = now;
    this.#lines = { stdout: this.#splitter('stdout'), stderr: this.#splitter('stderr') };
    this.#child = startChild(
      { program: options.program, arenaFd: options.arena.fd, drills: options.drills },
      {
        onExit: (exit) => this.#onExit(exit),
        onOutput: (stream, text) => this.#lines[stream].push(text),
        onLimitation: options.onLimitation,
      },
    );
    this.#doorbell = new Doorbell(this.#child.doorbell, {
      onFrame: (kind, body) => this.#onFrame(kind, body),
      onMalformed: (error) => this.#onMalformed(error),
      onClosed: () => this.#onDoorbellClosed(),
    });
  }

  view(restarts: number): RunnerView {
    return {
      id: this.id,
      pid: this.#child.pid,
      state: this.#state,
      device: this.#loaded?.device ?? 'unknown',
      restarts,
      batches: this.#batches,
      residentBytes: this.#residentBytes,
      transport: this.#options.arena.kind === 'shared' ? 'shared-memory' : 'socket',
    };
  }

  get takesWork(): boolean {
    return (this.#state === 'ready' || this.#state === 'busy') && this.#loss === undefined;
  }

  /** What it was last measured at. */
  get memory(): MemorySample {
    return { requests: this.#requests, bytes: this.#residentBytes };
  }

  get batches(): number {
    return this.#batches;
  }

  get growthBytes(): number {
    return this.#loaded ? this.#residentBytes - this.#loaded.residentBytes : 0;
  }

  ageMs(now: Instant): number {
    return this.#readyAt === undefined ? 0 : now - this.#readyAt;
  }

  run(job: BatchJob, predictedMs: number, latestDeadline?: Instant): void {
    assert(this.#state === 'ready' && !this.#batch, 'a runner has one batch at a time');
    const { arena, limits } = this.#options;
    if (runFrameBytes(job, arena) > MAX_RUN_BYTES) {
      this.#refuse(job);
      return;
    }
    const wanted = job.stream ? 0 : (this.#estimate?.bytesFor(job) ?? 0);
    // Without shared memory, or when the arena is full, outputs travel in the report.
    const space = wanted > 0 && arena.kind === 'shared' ? arena.allocate(wanted) : undefined;
    const hang = job.stream ? NEVER_HUNG : hangLimit({ predictedMs, latestDeadline }, limits, this.#now());
    const stream = job.stream && new StreamInFlight(job.stream, this.#now());
    this.#batch = { job, space, hang, stream, forgivenMs: 0 };
    this.#state = 'busy';
    this.#batches += 1;
    writeRun(this.#doorbell.begin('run'), job, { arena, signature: this.#signature, outputSpan: space });
    this.#doorbell.send();
  }

  /** The batch that it has now. */
  get batchId(): number | undefined {
    return this.#batch?.job.id;
  }

  /** So many further pieces of its stream may come. */
  grant(pieces: number): void {
    const batch = this.#batch;
    if (!batch?.stream || pieces < 1) return;
    batch.stream.granted(pieces, this.#now());
    writeCredit(this.#doorbell.begin('credit'), { batchId: batch.job.id, pieces });
    this.#doorbell.send();
  }

  /** Nobody reads its stream any more. Only streams can be given up: any other run goes on. */
  cancel(): void {
    const batch = this.#batch;
    if (!batch?.stream || batch.stream.cancelled) return;
    batch.stream.cancel(this.#now() + this.#options.limits.cancelMs);
    writeCancel(this.#doorbell.begin('cancel'), batch.job.id);
    this.#doorbell.send();
  }

  /** No more batches; the one at hand is finished, then the process is told to leave. */
  retire(): void {
    if (this.#stopWhenIdle) return;
    this.#stopWhenIdle = true;
    if (this.#readyAt === undefined) this.kill(stopped());
    else if (this.#batch) this.#state = 'retiring';
    else this.#sayStop();
  }

  /** SIGKILL; the first reason given is the one that its batch ends with. */
  kill(loss: RunnerLoss, cause: RunnerExit['cause'] = 'crashed'): void {
    if (this.#gone) return;
    if (!this.#loss) {
      this.#loss = loss;
      this.#cause = cause;
    }
    this.#child.kill();
  }

  /** Breaks it on purpose: from outside by a signal, from inside by an order that it obeys in its batches. */
  inject(order: FaultOrder): void {
    const { kind } = order.fault;
    if (kind === 'kill') this.#child.signal('SIGKILL');
    else if (kind === 'freeze') this.#child.signal('SIGSTOP');
    else if (!this.#gone) this.#doorbell.control({ kind: 'fault', order });
  }

  relieve({ id, fault }: FaultOrder): void {
    if (fault.kind === 'freeze') this.#child.signal('SIGCONT');
    else if (fault.kind !== 'kill' && !this.#gone) this.#doorbell.control({ kind: 'end-fault', id });
  }

  /** Looks at all limits. `stalledMs`: how long the host itself was away, which no runner can be blamed for. */
  tick(now: Instant, stalledMs: number): void {
    if (stalledMs > 0) this.#forgive(stalledMs);
    if (this.#exit !== undefined) {
      if (now >= this.#limitAt) this.#leave();
    } else if (this.#doorbellClosed && this.#state !== 'stopping') {
      // Of a process that was killed the end comes a moment after its doorbell's; one that only hung up lives on.
      if (now >= this.#limitAt) this.kill(brokeProtocol('it hung up'));
    } else if (this.#batch) {
      const { job, hang, stream, forgivenMs } = this.#batch;
      const { at, because } = stream?.hang ?? hang;
      if (now >= at + forgivenMs) this.kill(hung(job, because), 'hung');
    } else if (
      this.#pingSentAt !== undefined &&
      now - this.#pingSentAt >= this.#options.limits.heartbeatLimitMs
    ) {
      this.kill(silent(now - this.#pingSentAt), 'hung');
    } else if (this.#state === 'ready') {
      if (this.#pingSentAt === undefined && now - this.#heardAt >= this.#options.limits.heartbeatEveryMs)
        this.#ping();
    } else if (now >= this.#limitAt) {
      this.#onLimit();
    }
  }

  #forgive(stalledMs: number): void {
    this.#limitAt += stalledMs;
    this.#heardAt += stalledMs;
    if (this.#pingSentAt !== undefined) this.#pingSentAt += stalledMs;
    if (this.#batch) this.#batch.forgivenMs += stalledMs;
  }

  #onLimit(): void {
    const { startMs, loadMs } = this.#options.limits;
    switch (this.#state) {
      case 'starting':
        this.kill(unavailable(`its process did not answer within ${startMs} ms`), 'hung');
        break;
      case 'loading':
      case 'warming':
        this.kill(unavailable(`it took longer than ${loadMs} ms`), 'load-failed');
        break;
      default:
        this.kill(stopped());
    }
  }

  #onFrame(kind: FrameKind, body: Uint8Array): void {
    this.#heardAt = this.#now();
    if (kind === 'report') this.#onReport(body);
    else if (kind === 'piece') this.#onPiece(body);
    else if (kind === 'control') this.#onMessage(readRunnerMessage(body));
    else throw new MalformedFrame('the runner sent a frame that only hosts send');
  }

  #onMessage(message: RunnerMessage): void {
    switch (message.kind) {
      case 'hello':
        this.#onHello(message.protocol);
        break;
      case 'progress':
        if (this.#state === 'loading') this.#state = message.state;
        break;
      case 'ready':
        this.#onLoaded(message);
        break;
      case 'failed':
        // The runner has nothing more to say; its process is ended rather than waited for.
        this.kill(
          { error: new GimbalError(message.code, message.message), end: { cause: 'stopped' } },
          'load-failed',
        );
        break;
      case 'pong':
        this.#onPong(message.id, message.residentBytes);
        break;
    }
  }

  #onHello(protocol: number): void {
    if (this.#state !== 'starting' || protocol !== PROTOCOL) {
      throw new MalformedFrame(`the runner speaks version ${protocol} of the frames, expected ${PROTOCOL}`);
    }
    const { spec, variant, threads, providers, arena, profile, limits } = this.#options;
    this.#state = 'loading';
    this.#limitAt = this.#now() + limits.loadMs;
    this.#doorbell.control({
      kind: 'load',
      spec,
      variant,
      threads,
      providers,
      arenaBytes: arena.kind === 'shared' ? arena.capacity : undefined,
      profile,
      profileBudgetMs: limits.profileBudgetMs,
    });
  }

  #onLoaded(loaded: LoadReport): void {
    if (this.#state !== 'loading' && this.#state !== 'warming')
      throw new MalformedFrame('the runner is ready twice');
    this.#loaded = loaded;
    this.#signature = loaded.signature;
    this.#estimate = new OutputEstimate(loaded.signature);
    this.#residentBytes = loaded.residentBytes;
    this.#state = 'warming';
    this.#ping();
  }

  #ping(): void {
    this.#pingId += 1;
    this.#pingSentAt = this.#now();
    this.#doorbell.control({ kind: 'ping', id: this.#pingId });
  }

  #onPong(id: number, residentBytes: number): void {
    if (id !== this.#pingId || this.#pingSentAt === undefined)
      throw new MalformedFrame('nobody asked for this pong');
    const roundTripMs = this.#heardAt - this.#pingSentAt;
    this.#pingSentAt = undefined;
    this.#residentBytes = residentBytes;
    if (this.#readyAt !== undefined || !this.#loaded) return;
    this.#roundTripsMs.push(roundTripMs);
    if (this.#roundTripsMs.length < CALIBRATION_PINGS) this.#ping();
    else this.#announce(this.#loaded);
  }

  #announce({ signature, profile, device, loadMs }: LoadReport): void {
    if (this.#loss) return;
    const sorted = this.#roundTripsMs.sort((left, right) => left - right);
    // A batch of a tiny model costs mostly its way there and back.
    const fixedMs = profile.fixedMs + (sorted[sorted.length >> 2] ?? 0);
    this.#readyAt = this.#now();
    this.#state = 'ready';
    this.#events.onReady(this, { signature, profile: { ...profile, fixedMs }, device, loadMs });
  }

  /** The profile as measured in the runner, for its successors; undefined until loaded. */
  get ownProfile(): CostProfile | undefined {
    return this.#loaded?.profile;
  }

  #onReport(body: Uint8Array): void {
    const batch = this.#batch;
    if (!batch || batchIdOf(body) !== batch.job.id)
      throw new MalformedFrame('the report is of no batch in flight');
    const { arena } = this.#options;
    const { space, job } = batch;
    const received = readReport(body, {
      parts: job.parts,
      space: space && arena.bytes.subarray(space.offset, space.offset + space.byteLength),
      signature: this.#signature,
      streams: batch.stream !== undefined,
    });
    this.#batch = undefined;
    this.#requests += job.parts.length;
    if (!batch.stream) this.#estimate?.learn(job, received);
    if (received.residentBytes > 0) this.#residentBytes = received.residentBytes;
    this.#settleBatch(job.id, new LentReport(received, arena, space));
  }

  #onPiece(body: Uint8Array): void {
    const batch = this.#batch;
    const part = batch?.job.parts[0];
    if (!batch?.stream || !part || batchIdOf(body) !== batch.job.id) {
      throw new MalformedFrame('the piece is of no stream in flight');
    }
    const piece = readPiece(body, {
      part,
      signature: this.#signature,
      ...batch.stream.next(this.#now()),
    });
    // Time that the host was away has passed.
    batch.forgivenMs = 0;
    if (!batch.stream.cancelled) this.#events.onPiece(this, batch.job.id, piece);
  }

  /** The runner is idle before anyone is told, so that it can be given the next batch at once. */
  #settleBatch(batchId: number, report: BatchReport): void {
    if (this.#stopWhenIdle) this.#sayStop();
    else this.#state = 'ready';
    this.#events.onReport(this, batchId, report);
    this.#events.onIdle(this);
  }

  /** A batch that fits no frame; told later, since events never come inside a call. */
  #refuse(job: BatchJob): void {
    const bytes = runFrameBytes(job, this.#options.arena);
    this.#state = 'busy';
    this.#batch = { job, space: undefined, hang: NEVER_HUNG, stream: undefined, forgivenMs: 0 };
    void Promise.resolve().then(() => {
      if (this.#batch?.job !== job) return;
      this.#batch = undefined;
      this.#settleBatch(job.id, tooLargeReport(job, { bytes, limit: MAX_RUN_BYTES }));
    });
  }

  #sayStop(): void {
    this.#state = 'stopping';
    this.#limitAt = this.#now() + this.#options.limits.stopMs;
    this.#pingSentAt = undefined;
    this.#doorbell.control({ kind: 'stop' });
  }

  #onMalformed(error: MalformedFrame): void {
    this.kill(brokeProtocol(error));
  }

  #onDoorbellClosed(): void {
    this.#doorbellClosed = true;
    if (this.#exit !== undefined) this.#leave();
    // One that was told to stop hangs up before it exits; any other can't be talked to any more.
    else if (this.#state !== 'stopping') this.#limitAt = this.#now() + DOORBELL_GRACE_MS;
  }

  #onExit(exit: ChildExit): void {
    this.#exit = exit;
    this.#limitAt = this.#now() + DOORBELL_GRACE_MS;
    // What the runner said before it went is read first: its last report may be on the way.
    if (this.#doorbellClosed || this.#child.pid === undefined) this.#leave();
  }

  #leave(): void {
    if (this.#gone) return;
    this.#gone = true;
    const readyMs = this.#readyAt === undefined ? 0 : this.#now() - this.#readyAt;
    this.#doorbell.close();
    this.#lines.stdout.end();
    this.#lines.stderr.end();
    const loss = this.#loss ?? this.#ownLoss();
    // Only now: until it was gone the process could still write there.
    if (this.#batch?.space) this.#options.arena.free(this.#batch.space);
    this.#batch = undefined;
    const cause = loss.end.cause === 'killed' ? 'killed' : this.#cause;
    this.#events.onGone(this, loss, { cause, readyMs });
  }

  /** Nobody of ours has ended it; one that was told to leave may do so as it likes. */
  #ownLoss(): RunnerLoss {
    if (this.#stopWhenIdle && !this.#batch) return stopped();
    const spokeOfMemory = this.#now() - this.#spokeOfMemoryAt < LAST_WORDS_MS;
    const exit = this.#exit ?? { kind: 'exited', code: 0 };
    return lossOf(exit, { kernelKilled: this.#options.kernelKilled(), spokeOfMemory });
  }

  #splitter(stream: 'stdout' | 'stderr'): LineSplitter {
    const { onLine } = this.#options;
    return new LineSplitter(
      (text) => {
        if (speaksOfMemory(text)) this.#spokeOfMemoryAt = this.#now();
        onLine({ runner: this.id, stream, text });
      },
      () => this.#now(),
    );
  }

  #now(): Instant {
    return this.#options.clock.now();
  }
}
