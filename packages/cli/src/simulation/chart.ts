import type { Summary } from './summary.ts';
import type { Second, Tally } from './tally.ts';

const BAR_CELLS = 48;
const LABEL_CELLS = 22;

export interface Colours {
  green(text: string): string;
  yellow(text: string): string;
  red(text: string): string;
  cyan(text: string): string;
  dim(text: string): string;
}

const plain = (text: string): string => text;
export const NO_COLOURS: Colours = { green: plain, yellow: plain, red: plain, cyan: plain, dim: plain };

const painted =
  (code: number) =>
  (text: string): string =>
    `\u001b[${code}m${text}\u001b[0m`;
export const ANSI_COLOURS: Colours = {
  green: painted(32),
  yellow: painted(33),
  red: painted(31),
  cyan: painted(36),
  dim: painted(2),
};

/** One line a second: what was offered, and what became of it. */
export function chartLines({ seconds }: Tally, colours: Colours): string[] {
  const most = Math.max(1, ...seconds.map(endedIn));
  const { green, yellow, red } = colours;
  const legend = `${green('█')} good  ${yellow('░')} refused  ${red('▒')} late or failed`;
  return [`      ${legend}`, ...seconds.map((second) => chartLine(second, most, colours))];
}

function chartLine(second: Second, most: number, { green, yellow, red, cyan, dim }: Colours): string {
  const { good, refused, late, failed, offered, marks } = second;
  const bad = late + failed;
  const cells = (count: number): number => Math.ceil((count / most) * BAR_CELLS);
  // What is rare matters most: what went wrong has its cells before what went well.
  const badCells = Math.min(BAR_CELLS, cells(bad));
  const refusedCells = Math.min(BAR_CELLS - badCells, cells(refused));
  const goodCells = Math.min(BAR_CELLS - badCells - refusedCells, cells(good));
  const bar = green('█'.repeat(goodCells)) + yellow('░'.repeat(refusedCells)) + red('▒'.repeat(badCells));
  const room = ' '.repeat(BAR_CELLS - badCells - refusedCells - goodCells);
  const counts = [
    `offered ${offered}`,
    `good ${good}`,
    refused > 0 ? yellow(`refused ${refused}`) : '',
    late > 0 ? red(`late ${late}`) : '',
    failed > 0 ? red(`failed ${failed}`) : '',
  ].filter((text) => text !== '');
  const said = marks.length === 0 ? '' : cyan(`  ◀ ${marks.join(', ')}`);
  return `${dim(`${String(second.second).padStart(4)}s`)} ${bar}${room} ${counts.join('  ')}${said}`;
}

export function summaryLines(summary: Summary): string[] {
  const { requests, good, refused, late, failed, gone, checks, invariants, steps, seed } = summary;
  const lines: [string, string][] = [
    [
      'requests',
      `${requests}: ${good} good, ${refused} refused, ${late} late, ${failed} failed, ${gone} left`,
    ],
    ['goodput', `${percent(summary.goodputRatio)} of what the best variant can do`],
    ['answer time', `p50 ${summary.p50Ms.toFixed(1)} ms, p99 ${summary.p99Ms.toFixed(1)} ms`],
    ['attempts a request', summary.amplification.toFixed(2)],
    ['changes of the ladder', String(summary.ladderChanges)],
    ['checked', `${invariants} invariants, ${checks} times in ${steps} steps: all hold (seed ${seed})`],
  ];
  if (summary.recoveryMs !== undefined) lines.splice(3, 0, ['recovered after', `${summary.recoveryMs} ms`]);
  return lines.map(([label, text]) => `${label.padEnd(LABEL_CELLS)} ${text}`);
}

export function percent(ratio: number): string {
  return `${(ratio * 100).toFixed(1)} %`;
}

function endedIn({ good, refused, late, failed }: Second): number {
  return good + refused + late + failed;
}
