import { type Answer, isAnswered } from './answer.ts';

const BAR_CELLS = 32;

/** One second of a drill, by when answers came. */
export interface TimelineSecond {
  readonly second: number;
  readonly good: number;
  readonly degraded: number;
  readonly shed: number;
  readonly failed: number;
  readonly marks: readonly string[];
}

/** Something that the drill did. */
export interface Mark {
  readonly at: number;
  readonly text: string;
}

export function timelineOf(
  answers: readonly Answer[],
  marks: readonly Mark[],
  lastSecond: number,
): TimelineSecond[] {
  const seconds = Array.from({ length: lastSecond + 1 }, (_, second) => ({
    second,
    good: 0,
    degraded: 0,
    shed: 0,
    failed: 0,
    marks: marks.filter(({ at }) => secondOf(at) === second).map(({ text }) => text),
  }));
  for (const answer of answers) {
    const second = seconds[secondOf(answer.endedAt)];
    if (!second) continue;
    if (answer.kind === 'good') second.good += 1;
    else if (answer.kind === 'degraded') second.degraded += 1;
    else if (answer.kind === 'shed') second.shed += 1;
    else second.failed += 1;
  }
  return seconds;
}

interface Colours {
  green(text: string): string;
  yellow(text: string): string;
  red(text: string): string;
  cyan(text: string): string;
  dim(text: string): string;
}

/** ` 3s ████████████▒▒░░✗  good 48  shed 9  failed 1  ◀ a runner is killed`. `full`: the usual count, which fills the bar. */
export function timelineLine(second: TimelineSecond, full: number, colours: Colours): string {
  const { good, degraded, shed, failed, marks } = second;
  const { green, yellow, red, cyan, dim } = colours;
  const total = Math.max(1, full, good + degraded + shed + failed);
  const cells = (count: number): number => Math.ceil((count / total) * BAR_CELLS);
  const parts = [
    { cells: cells(good), text: green('█') },
    { cells: cells(degraded), text: yellow('▓') },
    { cells: cells(shed), text: yellow('░') },
    { cells: cells(failed), text: red('✗') },
  ];
  let room = BAR_CELLS;
  let bar = '';
  // What is rare matters most: failures have their cells before what went well.
  for (const part of parts.reverse()) {
    const length = Math.min(room, part.cells);
    bar = part.text.repeat(length) + bar;
    room -= length;
  }
  const counts = [
    `good ${good}`,
    degraded > 0 ? `degraded ${degraded}` : '',
    shed > 0 ? yellow(`shed ${shed}`) : '',
    failed > 0 ? red(`failed ${failed}`) : '',
  ].filter((text) => text !== '');
  const said = marks.length === 0 ? '' : cyan(`  ◀ ${marks.join('; ')}`);
  const time = dim(`${String(second.second).padStart(3)}s`);
  return `${time} ${bar}${' '.repeat(room)} ${counts.join('  ')}${said}`;
}

/** Answers a second, within a stretch of the drill. */
export function answeredPerSecond(answers: readonly Answer[], from: number, to: number): number {
  const count = answers.filter(
    (answer) => isAnswered(answer) && answer.endedAt >= from && answer.endedAt < to,
  ).length;
  return (count * 1000) / Math.max(1, to - from);
}

function secondOf(at: number): number {
  return Math.max(0, Math.floor(at / 1000));
}
