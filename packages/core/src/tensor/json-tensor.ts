import { GimbalError } from '../errors/gimbal-error.ts';
import { ByteBuffer } from './byte-buffer.ts';
import type { Datatype } from './datatype.ts';
import { JsonNumbers, tooManyElements } from './json-numbers.ts';
import { jsonPointerAt } from './json-pointer.ts';
import type { JsonScan } from './json-scan.ts';
import { MAX_AXES } from './shape.ts';

/** How a JSON array becomes a tensor. */
export interface JsonTensorPlan {
  readonly name: string;
  readonly datatype: Datatype;
  /** One element more is an error, found as soon as it is read. */
  readonly maxElements: number;
  /**
   * Where elements of fixed size go, room for `maxElements`. Undefined, and always for BYTES: they go to memory that the
   * next tensor reuses.
   */
  readonly destination: Uint8Array | undefined;
  /** FP16 has no exact way through JSON: V2 refuses it, the native API rounds. */
  readonly halves: 'refuse' | 'round';
}

export interface JsonTensor {
  readonly count: number;
  /** Lengths of the nested arrays, outermost first: `[6]` when flat, `[]` for a bare scalar. */
  readonly nesting: readonly number[];
  /** The elements, little endian; BYTES with their lengths. Valid until the next tensor is read. */
  readonly bytes: Uint8Array;
}

const OPEN_ARRAY = 0x5b;
const COMMA = 0x2c;
const CLOSE_ARRAY = 0x5d;

const NOT_KNOWN = -1;

/** Reads the value ahead of the scan as a tensor: a flat or nested array, or a bare scalar. */
export function readJsonTensor(scan: JsonScan, plan: JsonTensorPlan): JsonTensor {
  if (plan.datatype === 'FP16' && plan.halves === 'refuse') throw halvesRefused(scan, plan);
  return reader.read(scan, plan);
}

/** The state of one reading. It is reused: readings never overlap, since nothing here waits. */
class JsonTensorReader {
  /** Length of the arrays at each depth, once the first has ended. */
  readonly #lengths = new Int32Array(MAX_AXES);
  /** Items so far of the open array at each depth. */
  readonly #counts = new Int32Array(MAX_AXES);
  readonly #numbers = new JsonNumbers();
  /** Elements that have no fixed place. */
  readonly #buffer = new ByteBuffer();
  /** Arrays around the scalars, once one was seen. */
  #leafDepth = NOT_KNOWN;
  /** Most arrays seen inside each other. */
  #deepest = 0;
  /** BOOL and BYTES elements so far; numbers are counted where they are read. */
  #count = 0;

  read(scan: JsonScan, plan: JsonTensorPlan): JsonTensor {
    this.#buffer.clear();
    this.#count = 0;
    this.#leafDepth = NOT_KNOWN;
    this.#deepest = 0;
    const { datatype } = plan;
    if (datatype === 'BOOL' || datatype === 'BYTES') {
      if (scan.next() === OPEN_ARRAY) this.#readArrays(scan, plan);
      else this.#readElement(scan, plan);
      const { bytes } = this.#buffer;
      if (datatype === 'BOOL') plan.destination?.set(bytes);
      return { count: this.#count, nesting: this.#nesting(), bytes };
    }
    const { name, maxElements, destination } = plan;
    this.#numbers.begin({ scan, name, datatype, maxElements, destination, buffer: this.#buffer });
    if (scan.next() === OPEN_ARRAY) this.#readArrays(scan, plan);
    else this.#numbers.readOne(scan);
    this.#numbers.finish();
    return {
      count: this.#numbers.count,
      nesting: this.#nesting(),
      bytes: destination ?? this.#buffer.bytes,
    };
  }

  #readArrays(scan: JsonScan, plan: JsonTensorPlan): void {
    let depth = 0;
    let byte = OPEN_ARRAY;
    for (;;) {
      if (byte === OPEN_ARRAY) {
        this.#enter(scan, plan, depth);
        depth += 1;
        byte = scan.next();
        continue;
      }
      // An array has ended, or its scalars begin.
      if (byte !== CLOSE_ARRAY) this.#readLeaf(scan, plan, depth);
      do {
        depth -= 1;
        this.#leave(scan, plan, depth);
        if (depth === 0) return;
        byte = scan.next();
      } while (byte === CLOSE_ARRAY);
      if (byte !== COMMA) throw scan.syntaxError('"," or "]"');
      scan.at += 1;
      byte = scan.next();
      if (byte === CLOSE_ARRAY) throw scan.syntaxError('a value after ","');
    }
  }

  /** An array opens inside `depth` others. */
  #enter(scan: JsonScan, plan: JsonTensorPlan, depth: number): void {
    if (this.#leafDepth !== NOT_KNOWN && depth >= this.#leafDepth)
      throw ragged(scan, plan, 'a value', 'an array');
    if (depth === MAX_AXES) throw ragged(scan, plan, `at most ${MAX_AXES} arrays inside each other`, 'more');
    scan.descend();
    this.#counts[depth] = 0;
    if (depth === this.#deepest) {
      this.#lengths[depth] = NOT_KNOWN;
      this.#deepest += 1;
    }
  }

  /** The array inside `depth` others ends: it must be as long as its neighbours. */
  #leave(scan: JsonScan, plan: JsonTensorPlan, depth: number): void {
    const count = this.#counts[depth] as number;
    const length = this.#lengths[depth] as number;
    if (length === NOT_KNOWN) this.#lengths[depth] = count;
    else if (length !== count)
      throw ragged(scan, plan, `${length} items, as in the arrays before`, `${count}`);
    scan.ascend();
    if (depth > 0) this.#counts[depth - 1] = (this.#counts[depth - 1] as number) + 1;
  }

  /** Scalars up to the end of the array that holds them. */
  #readLeaf(scan: JsonScan, plan: JsonTensorPlan, depth: number): void {
    // A syntax error is said as one, wherever it is.
    scan.kind();
    if (this.#leafDepth === NOT_KNOWN && this.#deepest === depth) this.#leafDepth = depth;
    if (this.#leafDepth !== depth) throw ragged(scan, plan, 'an array, as before', scan.quote(scan.at));
    if (plan.datatype === 'BOOL' || plan.datatype === 'BYTES') {
      const before = this.#count;
      do this.#readElement(scan, plan);
      while (this.#passComma(scan, plan));
      this.#counts[depth - 1] = this.#count - before;
      return;
    }
    const before = this.#numbers.count;
    this.#numbers.readRun(scan);
    this.#counts[depth - 1] = this.#numbers.count - before;
  }

  #passComma(scan: JsonScan, plan: JsonTensorPlan): boolean {
    const byte = scan.next();
    if (byte === CLOSE_ARRAY) return false;
    if (byte !== COMMA) throw scan.syntaxError('"," or "]"');
    scan.at += 1;
    if (scan.next() === CLOSE_ARRAY) throw scan.syntaxError('a value after ","');
    if (scan.next() === OPEN_ARRAY) throw ragged(scan, plan, 'a value', 'an array');
    return true;
  }

  #readElement(scan: JsonScan, plan: JsonTensorPlan): void {
    scan.next();
    if (this.#count === plan.maxElements) throw tooManyElements(scan, plan);
    this.#count += 1;
    if (plan.datatype === 'BOOL') {
      this.#buffer.push(readBool(scan));
      return;
    }
    const at = this.#buffer.length;
    this.#buffer.extend(4);
    scan.stringBytes(this.#buffer);
    this.#buffer.setUint32(at, this.#buffer.length - at - 4);
  }

  #nesting(): readonly number[] {
    const nesting: number[] = [];
    for (let depth = 0; depth < this.#deepest; depth += 1) nesting.push(this.#lengths[depth] as number);
    return nesting;
  }
}

const reader = new JsonTensorReader();

/** true, false, or the 0 and 1 that Python clients send. */
function readBool(scan: JsonScan): number {
  const byte = scan.next();
  if (byte !== 0x30 && byte !== 0x31) {
    if (scan.kind() !== 'boolean') throw scan.kindError('true or false (BOOL)');
    return scan.boolean() ? 1 : 0;
  }
  const start = scan.at;
  scan.passNumber();
  if (scan.at !== start + 1) {
    scan.at = start;
    throw scan.kindError('true or false (BOOL)');
  }
  return byte - 0x30;
}

/** Neighbouring arrays that differ in length or depth. */
function ragged(scan: JsonScan, plan: JsonTensorPlan, expected: string, received: string): GimbalError {
  const pointer = jsonPointerAt(scan.bytes, scan.at);
  return new GimbalError(
    'INVALID_INPUT',
    `Cannot use input "${plan.name}": its arrays are ragged in "${pointer}", expected ${expected}, got ${received}`,
    { fields: [{ pointer, expected, received, hint: 'give all arrays of one level the same length' }] },
  );
}

/** In the words that Triton's clients know. */
function halvesRefused(scan: JsonScan, { name }: JsonTensorPlan): GimbalError {
  scan.next();
  const pointer = jsonPointerAt(scan.bytes, scan.at);
  return new GimbalError(
    'INVALID_INPUT',
    `receiving FP16 data via JSON is not supported. Please use the binary data format for input ${name}`,
    { fields: [{ pointer, expected: 'binary data', received: 'JSON' }] },
  );
}
