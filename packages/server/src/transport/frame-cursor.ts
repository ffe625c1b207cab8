/** Thrown by everything that reads frames: the peer sent something that is not our protocol. */
export class MalformedFrame extends Error {
  override readonly name = 'MalformedFrame';
}

/** Reads the body of a frame from front to back. Never reads outside it: a short body is a MalformedFrame. */
export class FrameCursor {
  readonly body: Uint8Array;
  readonly #view: DataView;
  #position = 0;

  constructor(body: Uint8Array) {
    this.body = body;
    this.#view = new DataView(body.buffer, body.byteOffset, body.byteLength);
  }

  get position(): number {
    return this.#position;
  }

  u32(): number {
    const at = this.#advance(4);
    return this.#view.getUint32(at, true);
  }

  f64(): number {
    const at = this.#advance(8);
    return this.#view.getFloat64(at, true);
  }

  bytes(length: number): Uint8Array {
    const at = this.#advance(length);
    return this.body.subarray(at, at + length);
  }

  /** A count or size that may not be larger than `limit`. */
  bounded(limit: number, what: string): number {
    const value = this.u32();
    if (value > limit) throw new MalformedFrame(`${what} is ${value}, expected at most ${limit}`);
    return value;
  }

  #advance(length: number): number {
    const at = this.#position;
    if (at + length > this.body.length) throw new MalformedFrame('the frame is shorter than its content');
    this.#position = at + length;
    return at;
  }
}
