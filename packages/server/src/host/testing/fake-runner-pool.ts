import {
  type BatchJob,
  type BatchReport,
  type CostProfile,
  GimbalError,
  type PartReport,
  type PoolEvents,
  type RunnerPool,
  type RunnerView,
  type VersionSpec,
} from '@gimbal/core';

const PROFILE: CostProfile = { fixedMs: 1, perRowMs: 0.1, points: [], bestRows: 8 };

/** A pool of one runner, `r1`, driven by the test: batches wait until they are answered. */
export class FakeRunnerPool implements RunnerPool {
  readonly jobs: BatchJob[] = [];
  released = 0;
  stopped = false;
  readonly #events: PoolEvents;
  readonly #spec: VersionSpec;

  constructor(spec: VersionSpec, events: PoolEvents) {
    this.#spec = spec;
    this.#events = events;
  }

  get views(): readonly RunnerView[] {
    return [];
  }

  start(): void {
    this.ready();
  }

  ready(): void {
    this.#events.onReady('r1', {
      signature: this.#spec.signature,
      profile: PROFILE,
      device: 'cpu',
      loadMs: 1,
    });
  }

  run(_id: string, job: BatchJob): void {
    this.jobs.push(job);
  }

  kill(): void {
    this.crash();
  }

  async stop(): Promise<void> {
    this.stopped = true;
  }

  /** Answers the oldest batch; each part with its own first row as text. */
  answer(): void {
    const job = this.jobs.shift();
    if (!job) throw new Error('no batch is running');
    const parts: PartReport[] = job.parts.map((part) => ({
      ok: true,
      output: { kind: 'answer', json: Buffer.from(`"row":${part.firstRow}`) },
    }));
    const report: BatchReport = {
      parts,
      preprocessMs: 0,
      inferMs: 1,
      postprocessMs: 0,
      release: () => {
        this.released += 1;
      },
    };
    this.#events.onReport('r1', job.id, report);
  }

  /** No runner will come back. */
  fault(): void {
    this.#events.onFault(new GimbalError('MODEL_UNAVAILABLE', 'Cannot run the model: it crashes in a loop'));
  }

  crash(): void {
    this.jobs.length = 0;
    this.#events.onLost('r1', new GimbalError('RUNNER_CRASHED', 'Cannot answer: the model process crashed'));
  }
}
