import type { GimbalError, PartOutput, VersionSpec, WorkDone } from '@gimbal/core';
import { twoDecimals } from '../front/answer-headers.ts';
import { errorMembers } from '../front/errors.ts';
import type { Inferred } from '../route.ts';

const OPEN_RESULTS = Buffer.from('"results":[');
const CLOSE_LIST = Buffer.from(']');
const OPEN = Buffer.from('{');
const CLOSE = Buffer.from('}');
const COMMA = Buffer.from(',');

/** `{"model":…,"degraded":false,` of each variant and rung. */
const heads = new WeakMap<VersionSpec, Map<string, Buffer>>();

/** The pieces of an answer: some view the works' memory, which must last until they have left. */
export type AnswerBody = readonly Uint8Array[];

/** What closes every answer. */
export interface AnswerEnd {
  readonly requestId: string;
  readonly totalMs: number;
}

/** One finished input, or why it has none. */
export type ItemResult = WorkDone | GimbalError;

/** The answer of a request with one input: the version's head, the runner's members as they are, the timings. */
export function singleAnswer(spec: VersionSpec, done: WorkDone, end: AnswerEnd): AnswerBody {
  return [headOf(spec, done), ...membersOf(done.parts, spec.signature.streams), tailOf(done, end)];
}

/** The answer of a list: an entry for each input, in order. `how` sums up those that succeeded. */
export function listAnswer(
  spec: VersionSpec,
  { results, how }: { readonly results: readonly ItemResult[]; readonly how: Inferred },
  end: AnswerEnd,
): AnswerBody {
  return [headOf(spec, how), ...listPieces(results, spec.signature.streams), tailOf(how, end)];
}

/** One piece of a stream: its number and the runner's members as they are. */
export function pieceDocument(index: number, parts: readonly PartOutput[]): AnswerBody {
  return [Buffer.from(`{"index":${index},`), ...membersOf(parts), CLOSE];
}

/** What the last event of a stream says. */
export function streamEnd(
  spec: VersionSpec,
  { pieces, how }: { readonly pieces: number; readonly how: Inferred },
  end: AnswerEnd,
): string {
  return `${headOf(spec, how).toString()}"pieces":${pieces}${Buffer.from(tailOf(how, end)).toString()}`;
}

/** `"results":[…]` when every input failed: a member of the error document. */
export function failedResults(errors: readonly GimbalError[]): string {
  return `"results":[${errors.map(failedItem).join(',')}]`;
}

/** The greatest of each stage over several works: they ran side by side. */
export function summarise(done: readonly WorkDone[]): Inferred {
  const [first] = done;
  const most = (pick: (work: WorkDone) => number) =>
    done.reduce((greatest, work) => Math.max(greatest, pick(work)), 0);
  return {
    variant: first?.variant ?? '',
    rung: most((work) => work.rung),
    batchRows: most((work) => work.batchRows),
    timings: {
      queueMs: most((work) => work.timings.queueMs),
      batchMs: most((work) => work.timings.batchMs),
      preprocessMs: most((work) => work.timings.preprocessMs),
      inferMs: most((work) => work.timings.inferMs),
      postprocessMs: most((work) => work.timings.postprocessMs),
    },
    degradedBecause: done.find(({ degradedBecause }) => degradedBecause !== undefined)?.degradedBecause,
    cached: done.every(({ cached }) => cached !== undefined) ? first?.cached : undefined,
  };
}

/**
 * A work's members as the runner rendered them. Parts of a split work are joined to one list of rows; the pieces of a
 * stream are a list however many they are.
 */
export function membersOf(parts: readonly PartOutput[], isStream = false): readonly Uint8Array[] {
  const rendered = parts.map((part) => (part.kind === 'answer' ? part.json : new Uint8Array(0)));
  if (rendered.length === 1 && !isStream) return rendered;
  const pieces: Uint8Array[] = [OPEN_RESULTS];
  rendered.forEach((json, index) => {
    if (index > 0) pieces.push(COMMA);
    if (startsWithResults(json)) pieces.push(json.subarray(OPEN_RESULTS.length, json.length - 1));
    else pieces.push(OPEN, json, CLOSE);
  });
  pieces.push(CLOSE_LIST);
  return pieces;
}

function listPieces(results: readonly ItemResult[], isStream = false): Uint8Array[] {
  const pieces: Uint8Array[] = [OPEN_RESULTS];
  results.forEach((result, index) => {
    if (index > 0) pieces.push(COMMA);
    if (result instanceof Error) pieces.push(Buffer.from(failedItem(result)));
    else {
      const end = `,"variant":${JSON.stringify(result.variant)},"degraded":${result.rung > 0}}`;
      pieces.push(OPEN, ...membersOf(result.parts, isStream), Buffer.from(end));
    }
  });
  pieces.push(CLOSE_LIST);
  return pieces;
}

function failedItem(error: GimbalError): string {
  return `{"error":{${errorMembers(error)}}}`;
}

function headOf(spec: VersionSpec, { variant, rung }: Inferred): Buffer {
  let known = heads.get(spec);
  if (!known) {
    known = new Map();
    heads.set(spec, known);
  }
  const key = rung > 0 ? `${variant} degraded` : variant;
  let head = known.get(key);
  if (!head) {
    head = Buffer.from(
      `{"model":${JSON.stringify(spec.model)},"version":${JSON.stringify(spec.version)},"variant":${JSON.stringify(variant)},"degraded":${rung > 0},`,
    );
    known.set(key, head);
  }
  return head;
}

/** ASCII: request ids have no other characters. */
function tailOf({ timings }: Inferred, { requestId, totalMs }: AnswerEnd): Uint8Array {
  const text = `,"request_id":"${requestId}","timings_ms":{"queue":${twoDecimals(timings.queueMs)},"batch":${twoDecimals(timings.batchMs)},"preprocess":${twoDecimals(timings.preprocessMs)},"infer":${twoDecimals(timings.inferMs)},"postprocess":${twoDecimals(timings.postprocessMs)},"total":${twoDecimals(totalMs)}}}`;
  return Buffer.from(text, 'latin1');
}

function startsWithResults(json: Uint8Array): boolean {
  if (json.length <= OPEN_RESULTS.length) return false;
  for (let index = 0; index < OPEN_RESULTS.length; index += 1) {
    if (json[index] !== OPEN_RESULTS[index]) return false;
  }
  return true;
}
