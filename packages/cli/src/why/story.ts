import type { CallRecord, DecisionRecord } from '@gimbal/core';

/** What the server remembers of one request. */
export interface Story {
  readonly call: CallRecord | null;
  readonly decisions: readonly DecisionRecord[];
}

/** What became of a request, in plain words; one sentence a line. Pure: the same story reads the same. */
export function tell({ call, decisions }: Story): string[] {
  const lines: string[] = [];
  if (call) lines.push(opening(call));
  for (const [index, decision] of decisions.entries()) {
    if (decisions.length > 1) lines.push(`Part ${index + 1} of ${decisions.length}:`);
    lines.push(...tellDecision(decision));
  }
  if (decisions.length === 0 && call) lines.push(...withoutDecision(call));
  return lines;
}

/** Where the time went, as bars; empty where nothing was run. */
export function stages(call: CallRecord | null): string[] {
  if (!call) return [];
  const parts: [string, number | undefined][] = [
    ['queue', call.queueMs],
    ['batch', call.batchMs],
    ['preprocess', call.preprocessMs],
    ['infer', call.inferMs],
    ['postprocess', call.postprocessMs],
  ];
  const known = parts.flatMap(([name, ms]) => (ms === undefined ? [] : [{ name, ms }]));
  if (known.length === 0) return [];
  const otherMs = Math.max(0, call.totalMs - known.reduce((sum, { ms }) => sum + ms, 0));
  const all = [...known, { name: 'host', ms: otherMs }];
  return all.map(({ name, ms }) => {
    const bar = '█'.repeat(Math.round((ms / Math.max(call.totalMs, 0.001)) * BAR_CELLS));
    return `${name.padEnd(12)}${bar.padEnd(BAR_CELLS)} ${milliseconds(ms)}`;
  });
}

const BAR_CELLS = 32;

/** What can be done about it; undefined where nothing need be. */
export function advice({ call, decisions }: Story): string | undefined {
  const last = decisions.at(-1);
  const code = last?.code ?? call?.code;
  if (last?.degradedBecause === 'overload')
    return 'More runners or replicas keep the best variant; Inference-Degradation: refuse insists on it.';
  switch (code) {
    case 'OVERLOADED':
      return last?.deadlineTold === false
        ? 'Say how long you wait with Inference-Timeout-Ms; add runners or replicas when this stays.'
        : 'Ask again after Retry-After; add runners, replicas or a cheaper variant when this stays.';
    case 'DEADLINE_EXCEEDED':
      return 'The budget is shorter than the wait and the run together: a longer one, or more runners.';
    case 'POISON_INPUT':
      return 'Look at the input with the model alone; gimbal quarantine release <fingerprint> lets it in again.';
    case 'RUNNER_CRASHED':
    case 'RUNNER_TIMED_OUT':
    case 'OUT_OF_MEMORY':
      return "Look at the server's log around that time for the lines of the runner.";
    case 'MODEL_UNAVAILABLE':
    case 'DEVICE_FAULT':
      return 'gimbal models show tells why the variant does not run; gimbal doctor looks at the machine.';
    default:
      return undefined;
  }
}

function opening(call: CallRecord): string {
  const about = call.model === undefined ? '' : ` for ${call.model} ${call.version ?? ''}`.trimEnd();
  return `${call.method} ${call.route}${about}: ${call.status} after ${milliseconds(call.totalMs)}, ${call.outcome}.`;
}

function tellDecision(decision: DecisionRecord): string[] {
  const lines = [arrival(decision)];
  switch (decision.kind) {
    case 'refused':
      lines.push(`It was refused with ${decision.code}: ${decision.detail}.`, ...surroundings(decision));
      break;
    case 'cached':
      lines.push(
        decision.degradedBecause === 'stale-answer'
          ? 'No run could answer it, so it was given a kept answer that is too old.'
          : 'It was given a kept answer, or that of another request which asked the same.',
      );
      break;
    case 'cancelled':
      lines.push(...waiting(decision), 'Its client went away.');
      break;
    case 'failed':
      lines.push(
        ...waiting(decision),
        ...losses(decision),
        `It failed with ${decision.code}: ${decision.detail}.`,
        ...surroundings(decision),
      );
      break;
    case 'answered':
      lines.push(...waiting(decision), ...losses(decision), ...answer(decision));
      break;
  }
  return lines;
}

function arrival({ lane, tenant, rows, budgetMs, deadlineTold }: DecisionRecord): string {
  const who = tenant === '' ? '' : ` of tenant ${tenant}`;
  const budget = deadlineTold
    ? `with ${milliseconds(budgetMs)} to be answered`
    : `without a deadline of its own (the model's ${milliseconds(budgetMs)} applied)`;
  return `A ${lane} request${who} with ${rows === 1 ? 'one row' : `${rows} rows`} came ${budget}.`;
}

function waiting({ predictedWaitMs, waitedMs }: DecisionRecord): string[] {
  if (predictedWaitMs === undefined) return [];
  const foreseen =
    predictedWaitMs < 1 ? 'no wait was foreseen' : `a wait of ${milliseconds(predictedWaitMs)} was foreseen`;
  if (waitedMs === undefined) return [`It was admitted: ${foreseen}; it never came to a runner.`];
  return [`It was admitted: ${foreseen}, ${milliseconds(waitedMs)} it was.`];
}

function losses({ lostRuns }: DecisionRecord): string[] {
  return lostRuns.map(({ cause, alone }) => {
    const company = alone ? 'alone in its runner' : 'in a batch with others';
    return `A run of it came to nothing (${cause}, ${company}); it was run again.`;
  });
}

function answer({ variant, rung, batchRows, runner, degradedBecause, totalMs }: DecisionRecord): string[] {
  const batch = batchRows === undefined || batchRows <= 1 ? 'alone' : `in a batch of ${batchRows} rows`;
  const lines = [
    `${variant} (rung ${rung}) ran it ${batch} on ${runner ?? 'a runner'}; the answer came after ${milliseconds(totalMs)}.`,
  ];
  if (degradedBecause !== undefined)
    lines.push(`Not the best variant: ${REASONS[degradedBecause] ?? degradedBecause}.`);
  return lines;
}

const REASONS: Readonly<Record<string, string>> = {
  overload: 'the best one could not have run all that was asked',
  unavailable: 'the best one had no working runner',
  breaker: 'the best one had failed too often and was being left alone',
  pinned: 'an operator holds the ladder on this rung',
  'stale-answer': 'no rung could answer',
};

function surroundings({ situation }: DecisionRecord): string[] {
  if (!situation) return [];
  const { queuedRows, runningRows, serving, ladderPosition, closedRungs } = situation;
  const lines = [
    `At that moment ${queuedRows} rows waited, ${runningRows} ran, and ${serving} ${serving === 1 ? 'runner' : 'runners'} took work; the ladder stood at ${ladderPosition.toFixed(2)}.`,
  ];
  for (const { rung, because } of closedRungs) lines.push(`Rung ${rung} got no work: ${because}.`);
  return lines;
}

function withoutDecision(call: CallRecord): string[] {
  if (call.code !== undefined) return [`It ended before any model was asked: ${call.code}, ${call.detail}.`];
  return ['No model was asked.'];
}

function milliseconds(ms: number): string {
  if (ms >= 10_000) return `${(ms / 1000).toFixed(1)} s`;
  return `${ms >= 100 ? ms.toFixed(0) : ms.toFixed(ms >= 10 ? 1 : 2)} ms`;
}
