import type {
  Block,
  Call,
  CallContext,
  PartOutput,
  StreamPiece,
  VersionView,
  WorkRequest,
  WorkResult,
} from '@gimbal/core';
import type { FakeArena } from './fake-arena.ts';

/** A work that waits for the test to settle it. */
export interface FakeWork {
  readonly call: FakeCall;
  readonly request: WorkRequest;
  readonly onSettled: (result: WorkResult) => void;
  readonly onPiece: ((piece: StreamPiece) => void) | undefined;
  settled: boolean;
  /** Pieces that it was given, and those of them that its reader has taken. */
  pieces: number;
  taken: number;
}

/**
 * A call that holds its edge to the contract: it must be closed exactly once, and nothing may be asked of it after
 * that. Breaches are thrown and also kept in `breaches`, since an edge may swallow what it catches.
 */
export class FakeCall implements Call {
  readonly version: VersionView;
  readonly context: CallContext;
  readonly blocks: Block[] = [];
  readonly works: FakeWork[] = [];
  readonly breaches: string[] = [];
  readonly #arena: FakeArena;
  readonly #outputs: Uint8Array[] = [];
  #closes = 0;

  constructor(arena: FakeArena, version: VersionView, context: CallContext) {
    this.#arena = arena;
    this.version = version;
    this.context = context;
  }

  get closed(): boolean {
    return this.#closes > 0;
  }

  reserve(byteLength: number): Block {
    this.#refuseWhenClosed('reserve');
    const block = this.#arena.reserve(byteLength);
    this.blocks.push(block);
    return block;
  }

  release(block: Block): void {
    this.#refuseWhenClosed('release');
    const at = this.blocks.findIndex((held) => held.span === block.span);
    if (at < 0) this.#breach('release of a block that the call does not hold');
    this.blocks.splice(at, 1);
    this.#arena.free(block);
  }

  submit(
    request: WorkRequest,
    onSettled: (result: WorkResult) => void,
    onPiece?: (piece: StreamPiece) => void,
  ): void {
    this.#refuseWhenClosed('submit');
    for (const span of spansOf(request)) {
      if (!this.blocks.some((block) => block.span === span))
        this.#breach('submit of a span not reserved here');
    }
    this.works.push({ call: this, request, onSettled, onPiece, settled: false, pieces: 0, taken: 0 });
  }

  close(): void {
    this.#closes += 1;
    if (this.#closes > 1) this.#breach(`close number ${this.#closes}`);
    for (const block of this.blocks) this.#arena.free(block);
    this.blocks.length = 0;
    for (const bytes of this.#outputs) bytes.fill(0xdd);
  }

  /** Gives a work a piece of its stream, unless the call is closed. */
  give(work: FakeWork, output: PartOutput): void {
    if (work.settled) this.#breach('a piece after the end');
    if (this.closed) return;
    let isTaken = false;
    const piece: StreamPiece = {
      index: work.pieces,
      output,
      byteLength: 1,
      variant: this.version.spec.variants[0]?.name ?? 'default',
      rung: 0,
      degradedBecause: undefined,
      queueMs: 0.5,
      taken: () => {
        if (isTaken) this.#breach('a piece taken twice');
        isTaken = true;
        work.taken += 1;
      },
    };
    work.pieces += 1;
    work.onPiece?.(piece);
  }

  /** Gives a work its result, unless the call is closed: then it is silent, as the host is. */
  settle(work: FakeWork, result: WorkResult): void {
    if (work.settled) this.#breach('a work settled twice');
    work.settled = true;
    if (this.closed) return;
    if (result.ok) {
      for (const part of result.parts) {
        if (part.kind === 'answer') this.#outputs.push(part.json);
        else for (const output of part.outputs) this.#outputs.push(output.bytes);
      }
    }
    work.onSettled(result);
  }

  #refuseWhenClosed(what: string): void {
    if (this.closed) this.#breach(`${what} after close`);
  }

  #breach(what: string): never {
    this.breaches.push(what);
    throw new Error(`contract of Call broken: ${what}`);
  }
}

function spansOf({ input }: WorkRequest) {
  return input.kind === 'encoded' ? [input.span] : input.tensors.map((tensor) => tensor.span);
}
