import { type ErrorCode, errorRow } from '@gimbal/core';

/** What a client saw of one request. `lost`: no answer at all. */
export type AnswerKind = 'good' | 'degraded' | 'shed' | 'timeout' | 'refused' | 'failed' | 'lost';

export interface Answer {
  readonly kind: AnswerKind;
  readonly status: number;
  /** Of the error registry; for `lost` the system's, "" for an answer that is none. */
  readonly code: string;
  /** Milliseconds since the load began. */
  readonly sentAt: number;
  readonly endedAt: number;
}

/** Sorts an answer by what the server's own registry says its code ends as. */
export function kindOf(status: number, body: string): { kind: AnswerKind; code: string } {
  // The mark stands near the start of an answer; tensors of megabytes need not be searched.
  if (status === 200) {
    const isDegraded = body.slice(0, 500).includes('"degraded":true');
    return { kind: isDegraded ? 'degraded' : 'good', code: '' };
  }
  const code = codeIn(body);
  if (code === undefined) return { kind: 'failed', code: `status ${status}` };
  switch (errorRow(code as ErrorCode)?.outcome) {
    case 'shed':
      return { kind: 'shed', code };
    case 'timeout':
      return { kind: 'timeout', code };
    case 'client_error':
      return { kind: 'refused', code };
    default:
      return { kind: 'failed', code };
  }
}

function codeIn(body: string): string | undefined {
  try {
    const { code } = JSON.parse(body) as { code?: unknown };
    return typeof code === 'string' ? code : undefined;
  } catch {
    return undefined;
  }
}

export function isAnswered({ kind }: Answer): boolean {
  return kind === 'good' || kind === 'degraded';
}

/** The latency that so large a share of the answers stays within, in ms; 0 without answers. */
export function latencyMs(answers: readonly Answer[], ratio: number): number {
  const sorted = answers.map(({ sentAt, endedAt }) => endedAt - sentAt).sort((one, other) => one - other);
  const index = Math.min(sorted.length - 1, Math.ceil(sorted.length * ratio) - 1);
  return sorted[Math.max(0, index)] ?? 0;
}

/** Answers by their codes, most frequent first; those that are answers stand under `ok` and `degraded`. */
export function countCodes(answers: readonly Answer[]): Readonly<Record<string, number>> {
  const counts = new Map<string, number>();
  for (const { kind, code } of answers) {
    const name = kind === 'good' ? 'ok' : code || kind;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return Object.fromEntries([...counts].sort(([, one], [, other]) => other - one));
}

/** How long after `since` the last request was sent that was not answered; 0 when all were. */
export function recoveryMs(answers: readonly Answer[], since: number): number {
  let last = since;
  for (const answer of answers) if (!isAnswered(answer)) last = Math.max(last, answer.sentAt);
  return last - since;
}
