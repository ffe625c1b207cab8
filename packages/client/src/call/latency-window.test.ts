import { expect, it } from 'vitest';
import { LatencyWindow, LatencyWindows } from './latency-window.ts';

it('knows no p95 before it has seen enough', () => {
  const latencies = new LatencyWindow();
  for (let sample = 1; sample < 20; sample += 1) latencies.add(sample);
  expect(latencies.p95).toBeUndefined();
  latencies.add(20);
  expect(latencies.p95).toBe(19);
});

it('forgets what is old', () => {
  const latencies = new LatencyWindow();
  for (let sample = 0; sample < 500; sample += 1) latencies.add(1000);
  for (let sample = 0; sample < 200; sample += 1) latencies.add(10);
  expect(latencies.p95).toBe(10);
});

it('keeps a bounded number of models apart, and forgets the one that was not used for longest', () => {
  const windows = new LatencyWindows();
  const first = windows.of('model-0');
  for (let model = 1; model < 64; model += 1) windows.of(`model-${model}`);
  expect(windows.of('model-0')).toBe(first);
  const second = windows.of('model-1');
  for (let model = 64; model < 127; model += 1) windows.of(`model-${model}`);
  expect(windows.of('model-1')).toBe(second);
  expect(windows.of('model-0')).not.toBe(first);
});
