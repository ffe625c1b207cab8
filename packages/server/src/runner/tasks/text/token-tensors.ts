import { type Datatype, GimbalError, type Signature } from '@gimbal/core';
import type { PreparedTensor } from '../task.ts';

/** Inputs that a text model may have; all are [batch, sequence]. */
const TOKEN_INPUTS = ['input_ids', 'attention_mask', 'token_type_ids', 'position_ids'] as const;

type TokenInput = (typeof TOKEN_INPUTS)[number];

interface Column {
  readonly kind: TokenInput;
  readonly datatype: 'INT64' | 'INT32';
  /** Length of the sequence axis when the model file fixes it. */
  readonly fixedLength: number | undefined;
}

/** Lays token ids out as the input tensors of a text model, found by their names. */
export class TokenTensors {
  readonly #columns: readonly Column[];
  readonly #padId: number;

  constructor(signature: Signature, padId: number) {
    this.#columns = signature.inputs.map(({ name, datatype, shape }) => ({
      kind: kindOf(name),
      datatype: integerDatatype(name, datatype),
      fixedLength: (shape[1] ?? -1) > 0 ? shape[1] : undefined,
    }));
    this.#padId = padId;
  }

  /** Several texts as one batch, padded to the longest (or to the model's fixed length). */
  layOut(texts: readonly (readonly number[])[]): readonly PreparedTensor[] {
    const longest = texts.reduce((length, ids) => Math.max(length, ids.length), 0);
    return this.#columns.map((column) => {
      const length = column.fixedLength ?? longest;
      const bytes = Buffer.alloc(texts.length * length * (column.datatype === 'INT64' ? 8 : 4));
      texts.forEach((ids, row) => {
        this.#fill(bytes, column, { ids, length, row });
      });
      return { bytes, shape: [texts.length, length] };
    });
  }

  #fill(
    bytes: Buffer,
    { kind, datatype }: Column,
    { ids, length, row }: { ids: readonly number[]; length: number; row: number },
  ): void {
    // An INT64 of a small non-negative number is its INT32 followed by four zero bytes.
    const elements = new Int32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength >> 2);
    const step = datatype === 'INT64' ? 2 : 1;
    let to = row * length * step;
    for (let position = 0; position < length; position += 1, to += step) {
      elements[to] = position < ids.length ? tokenValue(kind, ids, position) : this.#padding(kind);
    }
  }

  #padding(kind: TokenInput): number {
    return kind === 'input_ids' ? this.#padId : 0;
  }
}

function tokenValue(kind: TokenInput, ids: readonly number[], position: number): number {
  switch (kind) {
    case 'input_ids':
      return ids[position] as number;
    case 'attention_mask':
      return 1;
    case 'token_type_ids':
      return 0;
    case 'position_ids':
      return position;
  }
}

function kindOf(name: string): TokenInput {
  const kind = TOKEN_INPUTS.find((known) => known === name);
  if (kind !== undefined) return kind;
  throw new GimbalError(
    'UNSUPPORTED',
    `Cannot prepare texts: the model's input "${name}" is not known, expected ${TOKEN_INPUTS.join(', ')}`,
  );
}

function integerDatatype(name: string, datatype: Datatype): 'INT64' | 'INT32' {
  if (datatype === 'INT64' || datatype === 'INT32') return datatype;
  throw new GimbalError(
    'UNSUPPORTED',
    `Cannot prepare texts: the model's input "${name}" is ${datatype}, expected INT64 or INT32`,
  );
}
