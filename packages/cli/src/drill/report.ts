import type { Terminal } from '../terminal.ts';
import type { DrillReport } from './conduct.ts';
import type { Drill } from './drill.ts';

/** Lines of the server's log that explain a failure. */
const SHOWN_LOG_LINES = 10;

/** What came of a drill, for people; the timeline has been shown as it passed. */
export function printReport(terminal: Terminal, report: DrillReport): void {
  const { bold, dim, green, red } = terminal.colours;
  terminal.print('');
  for (const { what, isPassed, got } of report.checks) {
    terminal.print(`${isPassed ? green('✓') : red('✗')} ${what} ${dim(got)}`);
  }
  terminal.print('');
  const codes = Object.entries(report.codes).map(([code, count]) => `${code} ${count}`);
  terminal.print(`${dim('clients saw  ')} ${codes.join(', ')}`);
  terminal.print(`${dim('latency      ')} p50 ${report.p50Ms} ms, p99 ${report.p99Ms} ms from the fault on`);
  const recovery = report.recoveryMs === 0 ? 'at once' : `${(report.recoveryMs / 1000).toFixed(2)} s`;
  terminal.print(`${dim('recovery     ')} ${recovery}`);
  if (report.unsent > 0) {
    terminal.print(`${dim('not sent     ')} ${report.unsent}: this machine could not keep up`);
  }
  terminal.print(bold(report.isPassed ? green(`PASS ${report.drill}`) : red(`FAIL ${report.drill}`)));
  if (report.isPassed) return;
  terminal.say(`It passes when: ${report.criterion}`);
  for (const line of report.log.slice(-SHOWN_LOG_LINES)) terminal.say(`  ${line.slice(0, 300)}`);
}

/** In the manner of other documents: snake_case, units in names. */
export function reportDocument(report: DrillReport): object {
  return {
    drill: report.drill,
    passed: report.isPassed,
    criterion: report.criterion,
    checks: report.checks.map(({ what, isPassed, got }) => ({ what, passed: isPassed, got })),
    requests: report.requests,
    not_sent: report.unsent,
    codes: report.codes,
    p50_ms: report.p50Ms,
    p99_ms: report.p99Ms,
    recovery_ms: report.recoveryMs,
    timeline: report.timeline,
  };
}

export function printList(terminal: Terminal, drills: readonly Drill[]): void {
  const { bold, dim } = terminal.colours;
  const width = Math.max(...drills.map(({ name }) => name.length));
  for (const { name, summary, criterion, ownServerBecause } of drills) {
    terminal.print(`${bold(name.padEnd(width))}  ${summary}`);
    terminal.print(`${''.padEnd(width)}  ${dim(`passes when: ${criterion}`)}`);
    if (ownServerBecause !== undefined) {
      terminal.print(`${''.padEnd(width)}  ${dim(`only with a server of its own: ${ownServerBecause}`)}`);
    }
  }
}

export function listDocument(drills: readonly Drill[]): object {
  return {
    drills: drills.map(({ name, summary, criterion, ratePerSecond, durationMs, ownServerBecause }) => ({
      name,
      summary,
      criterion,
      rate: ratePerSecond,
      duration_ms: durationMs,
      own_server_only: ownServerBecause !== undefined,
    })),
  };
}
