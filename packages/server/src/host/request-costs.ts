import type { VersionSpec, WorkRequest } from '@gimbal/core';

/** Texts of about the same length share a batch, so that little is padded: the bucket doubles. */
const SHORTEST_TEXT_BUCKET_BYTES = 64;

/** What kind of request one is for the engine: with which others it can share a run, and which cost about the same. */
export class RequestCosts {
  readonly #isText: boolean;
  readonly #decodes: boolean;
  readonly #fixedShapes: boolean;

  constructor({ signature, text, variants }: VersionSpec) {
    this.#isText = text !== undefined;
    this.#decodes = text !== undefined || variants.some(({ image }) => image !== undefined);
    this.#fixedShapes = signature.inputs.every((input) => input.shape.slice(1).every((size) => size >= 0));
  }

  /** Only works whose rows can stand in one tensor share a batch. */
  bucketOf({ input }: WorkRequest): string {
    if (input.kind === 'encoded')
      return this.#isText ? `text ${textBucket(input.span.byteLength)}` : 'encoded';
    if (this.#fixedShapes) return 'tensors';
    return input.tensors.map(({ shape }) => shape.slice(1).join('x')).join(' ');
  }

  /**
   * Rows of a class cost about the same: sizes within a factor of two. Tensors of a fixed shape are of class 0, beside
   * photos, whose decoding costs by their size.
   */
  classOf({ input, rows }: WorkRequest): number {
    if (input.kind === 'encoded') return sizeClass(input.span.byteLength);
    if (this.#fixedShapes) return 0;
    let bytes = 0;
    for (const { span } of input.tensors) bytes += span.byteLength;
    return sizeClass(bytes / Math.max(1, rows));
  }

  /** The class of a request of which only the length of its body is known. */
  ofBody(bodyBytes: number | undefined): number {
    if (bodyBytes === undefined || (this.#fixedShapes && !this.#decodes)) return 0;
    return sizeClass(bodyBytes);
  }
}

function sizeClass(bytes: number): number {
  return bytes < 1 ? 0 : Math.floor(Math.log2(bytes));
}

function textBucket(byteLength: number): number {
  let limit = SHORTEST_TEXT_BUCKET_BYTES;
  while (limit < byteLength) limit *= 2;
  return limit;
}
