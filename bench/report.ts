import { cpus, release, totalmem } from 'node:os';
import type { CancelledCost } from './cancelled.ts';
import type { Job } from './jobs.ts';
import type { BareResult, LoadMeasurement } from './measure.ts';
import { canPin } from './pinned.ts';

/** One job at one concurrency in one round, beside the bare run of the same round. */
export interface Row {
  readonly job: Job['name'];
  readonly round: number;
  readonly connections: number;
  readonly bare: BareResult;
  readonly gimbal: LoadMeasurement;
  readonly meanBatch: number | undefined;
}

export interface History {
  readonly date: string;
  readonly machine: Readonly<Record<string, string | number | boolean>>;
  readonly imageModel: string;
  readonly startMs: number;
  readonly idlePssBytes: number | undefined;
  readonly cancelled?: CancelledCost;
  readonly rows: readonly Row[];
}

export function machine(): Record<string, string | number | boolean> {
  return {
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    node: process.version,
    pinned: canPin,
  };
}

/** The table that people read: medians over the rounds. */
export function table(history: History): string {
  const lines = [
    '| job | connections | answers/s | ratio to bare | p50 / p99 ms | bare p50 ms | CPU ms per answer | bare CPU ms | mean batch | wrong or failed |',
    '|---|---|---|---|---|---|---|---|---|---|',
  ];
  for (const rows of groups(history.rows)) {
    const first = rows[0] as Row;
    const of = (pick: (row: Row) => number | undefined): number =>
      median(rows.map((row) => pick(row) ?? Number.NaN));
    const failures = rows.reduce((sum, row) => sum + failuresOf(row), 0);
    lines.push(
      `| ${[
        first.job,
        first.connections,
        whole(of((row) => row.gimbal.load.goodPerSecond)),
        of((row) => row.gimbal.load.goodPerSecond / row.bare.itemsPerSecond).toFixed(3),
        `${of((row) => row.gimbal.load.latencyMs.p50).toFixed(2)} / ${of((row) => row.gimbal.load.latencyMs.p99).toFixed(2)}`,
        of((row) => row.bare.p50Ms).toFixed(3),
        of((row) => row.gimbal.cpuMsPerAnswer).toFixed(3),
        of((row) => row.bare.cpuMsPerItem).toFixed(3),
        of((row) => row.meanBatch).toFixed(1),
        failures,
      ].join(' | ')} |`,
    );
  }
  return lines.join('\n');
}

export function failuresOf(row: Row): number {
  const { failures, statuses } = row.gimbal.load;
  const refused = Object.entries(statuses).reduce(
    (sum, [status, count]) => sum + (status === '200' ? 0 : count),
    0,
  );
  return refused + failures.connect + failures.reset + failures.timeout + failures['wrong-answer'];
}

function groups(rows: readonly Row[]): Row[][] {
  const byKey = new Map<string, Row[]>();
  for (const row of rows) {
    const key = `${row.job} ${row.connections}`;
    byKey.set(key, [...(byKey.get(key) ?? []), row]);
  }
  return [...byKey.values()];
}

export function median(values: readonly number[]): number {
  const sorted = values.filter((value) => !Number.isNaN(value)).sort((left, right) => left - right);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

function whole(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}
