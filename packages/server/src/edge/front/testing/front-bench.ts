import { type CallRecord, type Clock, SeededRandom } from '@gimbal/core';
import type { EdgeLimits, EdgePorts, Route } from '../../route.ts';
import { FakeExchange, type FakeRequest } from '../../testing/fake-exchange.ts';
import { FakeInference } from '../../testing/fake-inference.ts';
import type { FakeModel } from '../../testing/fake-model.ts';
import { Router } from '../router.ts';

/** A clock that only tests move. */
export class FakeClock implements Clock {
  nowMs = 0;

  now(): number {
    return this.nowMs;
  }

  wallTimeMs(): number {
    return 1_800_000_000_000 + this.nowMs;
  }
}

/** A router over fakes, and all that it reported. */
export class FrontBench {
  readonly inference: FakeInference;
  readonly records: CallRecord[] = [];
  readonly clock = new FakeClock();
  readonly ports: EdgePorts;
  readonly #router: Router;

  constructor(
    models: readonly FakeModel[],
    routes: (ports: EdgePorts) => readonly Route[],
    changes: { readonly limits?: Partial<EdgeLimits>; readonly defaultModel?: string } = {},
  ) {
    this.inference = new FakeInference(models);
    this.ports = {
      inference: this.inference,
      clock: this.clock,
      random: new SeededRandom(7),
      observer: { finished: (record) => this.records.push(record) },
      limits: { maxBodyBytes: 1024 * 1024, maxInputs: 8, maxJsonDepth: 20, ...changes.limits },
      stream: { heartbeatMs: 15_000, stallMs: 300_000 },
      server: { name: 'gimbal', version: '0.1.0' },
      defaultModel: changes.defaultModel,
    };
    this.#router = new Router(routes(this.ports), this.ports);
  }

  /** Sends a request and leaves what it started unfinished. */
  start(request: FakeRequest): FakeExchange {
    const exchange = new FakeExchange(request);
    this.#router.listener(exchange);
    return exchange;
  }

  /** Sends a request and runs what it submitted. */
  ask(request: FakeRequest): FakeExchange {
    const exchange = this.start(request);
    this.inference.settleAll();
    return exchange;
  }

  /** Fails unless every request was reported once and no call is open. */
  assertClean(requests: number): void {
    this.inference.assertClean();
    if (this.records.length !== requests) {
      throw new Error(`${this.records.length} records of ${requests} requests`);
    }
  }

  get record(): CallRecord {
    const record = this.records.at(-1);
    if (!record) throw new Error('nothing was recorded');
    return record;
  }
}
