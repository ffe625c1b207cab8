import { assert } from '../../base/assert.ts';
import { DEFAULT_VERDICT_OPTIONS, type VerdictOptions } from './options.ts';

/** How a run came to nothing. */
export type RunEndCause =
  /** The runner ended itself: SIGSEGV, SIGABRT, an exit. */
  | 'crashed'
  /** It ran past its limit, and the host killed it. */
  | 'hung'
  /** A SIGKILL that the host did not send, and of which nothing more is known. */
  | 'killed'
  /** A SIGKILL by the kernel, for want of memory. */
  | 'oom-killed'
  /** The runner lives, and says that the run needed more memory than there is. */
  | 'out-of-memory'
  /** The host ended the runner for reasons of its own: unloading, a lost device, a drill on another run. */
  | 'stopped';

export interface RunEnd {
  readonly cause: RunEndCause;
  /** No rows of other works were with the runner, in this batch or in another. */
  readonly alone: boolean;
}

/** What becomes of a work whose run came to nothing. */
export type VerdictKind =
  /** Run it with others, as if it had just come. */
  | 'run-again'
  /** Run it with nothing else in the runner. */
  | 'run-alone'
  /** Fail it with POISON_INPUT, and put its input into quarantine. */
  | 'poison'
  /** Fail it with the error of its last run. */
  | 'give-up';

export interface Verdict {
  readonly kind: VerdictKind;
  /** Public: completes a message or a log line. */
  readonly because: string;
}

/**
 * Decides what: whether a work whose run came to nothing is run again, with whom, or is to blame for it.
 *
 * Why this design: all works of a batch crash together, and only one of them may be the cause, so neighbours are innocent
 * until proven guilty: proof is an end with nobody else there, after an earlier end. A runner that ends itself is strong
 * evidence, and two such ends convict: a poison input costs two restarts. A SIGKILL from outside, or a run past its
 * limit, may have come from an operator, the kernel or a machine that stood still: one more is needed. A single
 * unexplained SIGKILL costs a batch one run more, in company; running its rows one by one would cost many.
 *
 * Transitions, by the last end: crash or hang in company, or an OOM kill → alone · first end alone → alone once more ·
 * enough ends, the last of them alone → poison · a first SIGKILL → again, the second → alone · out of memory in company →
 * again, in the smaller batch that the pool makes; alone, twice → give up · stopped → as before that end.
 * Not counted: ends by the host for its own reasons. Works that are declared not repeatable are never run again, and
 * never blamed, since one end proves nothing.
 */
export function judge(
  work: { readonly ends: readonly RunEnd[]; readonly repeatable: boolean },
  options: VerdictOptions = DEFAULT_VERDICT_OPTIONS,
): Verdict {
  const { ends, repeatable } = work;
  const last = ends.at(-1);
  assert(last, 'a work is judged after a run');
  if (!repeatable) return { kind: 'give-up', because: 'the request is declared not repeatable' };
  const evidence = evidenceOf(ends);
  const proof = proofOf(last, evidence, options);
  if (proof) return { kind: 'poison', because: `${proof}, the last of them alone in its runner` };
  if (ends.length >= options.maxRuns) {
    return { kind: 'give-up', because: `${ends.length} runs of it came to nothing` };
  }
  if (last.cause === 'out-of-memory') return outOfMemory(ends, evidence);
  return nextRun(last, evidence);
}

interface Evidence {
  /** Ends by the runner itself. */
  readonly own: number;
  /** Ends that may have another cause than the work. */
  readonly doubtful: number;
  /** An end that makes its company dangerous. */
  readonly suspect: boolean;
}

function evidenceOf(ends: readonly RunEnd[]): Evidence {
  let own = 0;
  let doubtful = 0;
  let suspect = false;
  for (const { cause } of ends) {
    switch (cause) {
      case 'crashed':
        own += 1;
        suspect = true;
        break;
      case 'hung':
      case 'oom-killed':
        doubtful += 1;
        suspect = true;
        break;
      case 'killed':
        doubtful += 1;
        suspect ||= doubtful > 1;
        break;
      case 'out-of-memory':
      case 'stopped':
        break;
    }
  }
  return { own, doubtful, suspect };
}

/** What convicts the work; undefined while it may be innocent. */
function proofOf(last: RunEnd, { own, doubtful }: Evidence, options: VerdictOptions): string | undefined {
  if (!last.alone || last.cause === 'stopped' || last.cause === 'out-of-memory') return undefined;
  // Crashes convict with a crash at their end: a SIGKILL from outside is no proof of another one.
  if (last.cause === 'crashed' && own >= options.ownEnds) return `${own} runs of it ended with a crash`;
  return own + doubtful >= options.doubtfulEnds ? `${own + doubtful} runs of it were lost` : undefined;
}

/** The runner lives, so nobody is harmed; what doesn't fit alone fits in no batch. */
function outOfMemory(ends: readonly RunEnd[], { suspect }: Evidence): Verdict {
  const alone = ends.filter((end) => end.cause === 'out-of-memory' && end.alone).length;
  if (alone > 1) return { kind: 'give-up', because: 'it needs more memory than there is, even alone' };
  // A neighbour on the device may have had the memory for a moment: alone, once more.
  if (suspect || alone > 0)
    return { kind: 'run-alone', because: 'its run needed more memory than there was' };
  return { kind: 'run-again', because: 'its batch needed more memory than there was' };
}

function nextRun({ cause, alone }: RunEnd, { suspect }: Evidence): Verdict {
  if (cause === 'stopped') {
    return {
      kind: suspect ? 'run-alone' : 'run-again',
      because: 'its runner was stopped for another reason',
    };
  }
  if (!suspect) return { kind: 'run-again', because: 'its runner was killed from outside' };
  const because = alone
    ? 'its run was lost, and once more shows whether it is the cause'
    : 'its batch was lost, and alone it shows whether it is the cause';
  return { kind: 'run-alone', because };
}
