import { type Block, elementCount, type GimbalError, type VersionSpec } from '@gimbal/core';
import { takesImages, takesRawTensor } from '../front/accepted-types.ts';
import { refuseField } from './field-refusal.ts';
import { imageTypeOf } from './image-signature.ts';
import type { ReadyItem } from './item.ts';
import { fillFreeAxis, type TensorPlan, tensorPlans } from './tensor-plan.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** A whole body, already in arena memory, as one input. */
export function rawItem(kind: 'image' | 'text' | 'tensor', block: Block, spec: VersionSpec): ReadyItem {
  if (block.bytes.length === 0) throw emptyBody();
  switch (kind) {
    case 'image':
      return encoded(block);
    case 'text':
      requireText(block.bytes);
      return encoded(block);
    case 'tensor':
      return tensorItem(block, spec);
  }
}

export function emptyBody(): GimbalError {
  return refuseField('read the body', { pointer: '', expected: 'an input', received: 'an empty body' });
}

function encoded({ span }: Block): ReadyItem {
  return { ok: true, input: { kind: 'encoded', span }, rows: 1 };
}

function requireText(bytes: Uint8Array): void {
  try {
    utf8.decode(bytes);
  } catch {
    throw refuseField('read the text', { pointer: '', expected: 'UTF-8', received: 'bytes that are not' });
  }
}

/** A tensor when the length fits the signature, else an image when it begins like one. */
function tensorItem(block: Block, spec: VersionSpec): ReadyItem {
  const [plan] = tensorPlans(spec);
  const shape = plan && takesRawTensor(spec) ? rawShape(plan, block.bytes.length) : undefined;
  if (plan && shape) {
    requireBooleans(plan, block.bytes);
    const rows = plan.batches ? (shape[0] ?? 1) : 1;
    return { ok: true, input: { kind: 'tensors', tensors: [{ span: block.span, shape }] }, rows };
  }
  if (takesImages(spec.task) && imageTypeOf(block.bytes) !== undefined) return encoded(block);
  throw refuseField('use the body', {
    pointer: '',
    expected: plan ? expectedBytes(plan) : 'one tensor',
    received: `${block.bytes.length} bytes`,
  });
}

function rawShape(plan: TensorPlan, byteLength: number): readonly number[] | undefined {
  const { elementBytes, itemCount, itemShape, batches } = plan;
  const count = byteLength / elementBytes;
  if (!Number.isInteger(count)) return undefined;
  if (batches && itemCount !== undefined && itemCount > 0) {
    const rows = count / itemCount;
    return Number.isInteger(rows) && rows > 0 ? [rows, ...itemShape] : undefined;
  }
  const filled = fillFreeAxis(itemShape, count);
  return filled && (batches ? [1, ...filled] : filled);
}

/** The runtime takes any other byte for undefined behaviour. */
function requireBooleans({ datatype, name }: TensorPlan, bytes: Uint8Array): void {
  if (datatype !== 'BOOL') return;
  const wrong = bytes.findIndex((byte) => byte > 1);
  if (wrong < 0) return;
  throw refuseField(`use input "${name}"`, {
    pointer: '',
    expected: 'bytes 0 and 1 (BOOL)',
    received: `${bytes[wrong]} at byte ${wrong}`,
  });
}

function expectedBytes({ datatype, elementBytes, itemShape, batches }: TensorPlan): string {
  const shape = `${datatype} [${itemShape.join(', ')}]`;
  const fixed = elementCount(itemShape.map((length) => (length < 0 ? 1 : length))) ?? 1;
  const isFree = batches || itemShape.some((length) => length < 0);
  return `${isFree ? 'a multiple of ' : ''}${fixed * elementBytes} bytes, ${shape}${batches ? ' for each row' : ''}`;
}
