import { describe, expect, it } from 'vitest';
import { EndpointHealth } from './endpoint-health.ts';

const OPTIONS = {
  probeIntervalMs: 500,
  firstBackOffMs: 500,
  maxBackOffMs: 15_000,
  random: { next: () => 0.5 },
};

function anEndpoint(): EndpointHealth {
  const health = new EndpointHealth(OPTIONS);
  health.probed(0);
  return health;
}

const lost = (startedAt: number) => ({ startedAt, lost: true, because: 'silent' });
const failed = (startedAt: number) => ({ startedAt, lost: false, because: 'status 500' });

describe('The health of an endpoint', () => {
  it('is unknown until the first good answer, and asked for at once', () => {
    const health = new EndpointHealth(OPTIONS);
    expect(health.state.kind).toBe('unknown');
    expect(health.nextProbeAt).toBeLessThanOrEqual(0);
    health.probed(10);
    expect(health.state.kind).toBe('up');
    expect(health.nextProbeAt).toBe(510);
  });

  it('is suspect after one lost batch, and is asked at once; a good answer clears it', () => {
    const health = anEndpoint();
    health.failed(lost(90), 100);
    expect(health.state).toEqual({ kind: 'suspect', since: 100 });
    expect(health.nextProbeAt).toBe(100);
    health.probed(120);
    expect(health.state.kind).toBe('up');
  });

  it('is out after one failed probe of a suspect, but only after two of one that was up', () => {
    const suspect = anEndpoint();
    suspect.failed(lost(90), 100);
    suspect.probeFailed('no answer', 200);
    expect(suspect.state).toMatchObject({ kind: 'out', because: 'no answer' });
    const up = anEndpoint();
    up.probeFailed('no answer', 1_000);
    expect(up.state.kind).toBe('up');
    expect(up.nextProbeAt).toBe(1_000);
    up.probeFailed('no answer', 1_500);
    expect(up.state.kind).toBe('out');
  });

  it('is out after three lost batches in a row though its probes go well', () => {
    const health = anEndpoint();
    for (const at of [100, 200]) {
      health.failed(lost(at), at + 50);
      health.probed(at + 60);
      expect(health.state.kind).toBe('up');
    }
    health.failed(lost(300), 350);
    expect(health.state.kind).toBe('out');
  });

  it('is out when half of at least ten batches failed, and not for nine', () => {
    const health = anEndpoint();
    for (let call = 1; call <= 9; call += 1) health.failed(failed(call), call);
    expect(health.state.kind).toBe('up');
    health.failed(failed(10), 10);
    expect(health.state.kind).toBe('out');
    const mixed = anEndpoint();
    for (let call = 1; call <= 60; call += 1) {
      if (call % 3 === 0) mixed.failed(failed(call), call);
      else mixed.succeeded(call);
    }
    expect(mixed.state.kind).toBe('up');
  });

  it('is not changed by the end of a batch that began before it went out', () => {
    const health = anEndpoint();
    health.failed(lost(90), 100);
    health.probeFailed('no answer', 200);
    const due = health.nextProbeAt;
    health.succeeded(150);
    health.failed(lost(150), 300);
    expect(health.state.kind).toBe('out');
    expect(health.nextProbeAt).toBe(due);
  });

  it('is tried again after a back-off that doubles up to its bound, and forgets it when it is back', () => {
    const health = anEndpoint();
    health.failed(lost(90), 100);
    health.probeFailed('no answer', 1_000);
    const waits: number[] = [];
    let now = 1_000;
    for (let trial = 0; trial < 8; trial += 1) {
      waits.push(health.nextProbeAt - now);
      now = health.nextProbeAt;
      health.probing(now);
      health.probeFailed('no answer', now);
    }
    expect(waits).toEqual([375, 750, 1_500, 3_000, 6_000, 11_250, 11_250, 11_250]);
    health.probed(now);
    expect(health.state.kind).toBe('up');
    health.probeFailed('no answer', now);
    health.probeFailed('no answer', now);
    expect(health.nextProbeAt - now).toBe(375);
  });
});
