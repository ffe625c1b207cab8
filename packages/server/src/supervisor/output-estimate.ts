import { type BatchJob, byteSizeOf, type Signature } from '@gimbal/core';
import type { ReceivedReport } from '../transport/report-frame.ts';

/** Outputs that stay below this travel in the report: cheaper than lending memory for them. */
const MIN_SPACE_BYTES = 4096;
/** Sizes that are only known from the last batch get this much more. */
const HEADROOM_RATIO = 1.5;
/** Every output starts at a multiple of 8. */
const ALIGNMENT = 8;

/** Guesses how much memory a batch's outputs take: known from fixed shapes, else learned from the last batch. */
export class OutputEstimate {
  readonly #fixedTensorBytes: ((rows: number) => number) | undefined;
  #tensorBytesPerRow = 0;
  #answerBytesPerRow = 0;

  constructor(signature: Signature) {
    this.#fixedTensorBytes = fixedSize(signature);
  }

  /** Bytes to lend for the outputs of a batch; 0 when they may as well travel in the report. */
  bytesFor(job: BatchJob): number {
    let total = 0;
    let least = 0;
    for (const part of job.parts) {
      if (part.want === 'answer') total += part.rows * this.#answerBytesPerRow;
      else if (this.#fixedTensorBytes) total += this.#fixedTensorBytes(part.rows);
      else total += part.rows * this.#tensorBytesPerRow;
      least += ALIGNMENT;
    }
    return total < MIN_SPACE_BYTES ? 0 : Math.ceil(total) + least;
  }

  learn(job: BatchJob, report: ReceivedReport): void {
    let tensorRows = 0;
    let answerRows = 0;
    for (let index = 0; index < job.parts.length; index += 1) {
      const part = job.parts[index];
      if (!part || !report.parts[index]?.ok) continue;
      if (part.want === 'answer') answerRows += part.rows;
      else tensorRows += part.rows;
    }
    if (tensorRows > 0) this.#tensorBytesPerRow = (report.tensorBytes / tensorRows) * HEADROOM_RATIO;
    if (answerRows > 0) this.#answerBytesPerRow = (report.answerBytes / answerRows) * HEADROOM_RATIO;
  }
}

function fixedSize({ outputs, batchAxis }: Signature): ((rows: number) => number) | undefined {
  const first = batchAxis === 'dynamic' ? 1 : 0;
  const perRow: number[] = [];
  for (const { datatype, shape } of outputs) {
    const axes = shape.slice(first);
    if (datatype === 'BYTES' || axes.includes(-1)) return undefined;
    perRow.push(byteSizeOf(datatype) * axes.reduce((count, length) => count * length, 1));
  }
  const rowsCount = batchAxis === 'dynamic';
  return (rows) => {
    let total = 0;
    for (const bytes of perRow) total += Math.ceil((bytes * (rowsCount ? rows : 1)) / ALIGNMENT) * ALIGNMENT;
    return total;
  };
}
