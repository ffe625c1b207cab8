import type { Signature } from '@gimbal/core';
import type { RunPart } from '../transport/run-frame.ts';
import type { PartTensors } from './input-batch.ts';
import type { PreparedInput } from './tasks/task.ts';

/** Collated items are padded to the longest; one more than this much longer than the shortest gets a run of its own. */
const MAX_PADDING_RATIO = 2;

/** A part whose input is ready to run. */
export interface BatchMember {
  /** Place of the part in the batch. */
  readonly index: number;
  readonly part: RunPart;
  readonly rows: number;
  readonly tensors: PartTensors;
  /** What the task made of an encoded input. */
  readonly prepared: PreparedInput | undefined;
}

/** Parts that go into one run of the model. */
export interface BatchGroup {
  readonly members: readonly BatchMember[];
  readonly rows: number;
  /** Items of different lengths, to be padded by the task. */
  readonly collated: boolean;
}

/**
 * Sorts the parts of a batch into runs: parts that agree in every axis but the first share one; without a batch axis
 * each has its own; items that the task pads share one when their lengths are near.
 */
export function groupMembers(
  members: readonly BatchMember[],
  signature: Signature,
  collates: boolean,
): readonly BatchGroup[] {
  if (members.length === 0) return [];
  if (signature.batchAxis === 'none') return members.map((member) => groupOf([member], false));
  const padded = collates ? members.filter(({ prepared }) => prepared !== undefined) : [];
  const plain = padded.length === 0 ? members : members.filter(({ prepared }) => prepared === undefined);
  return [...groupByShape(plain, signature), ...groupByLength(padded)];
}

function groupByShape(members: readonly BatchMember[], signature: Signature): readonly BatchGroup[] {
  if (members.length === 0) return [];
  if (members.length === 1 || !hasFreeShape(signature)) return [groupOf(members, false)];
  const groups = new Map<string, BatchMember[]>();
  for (const member of members) {
    const key = member.tensors.map(({ shape }) => shape.slice(1).join('x')).join(' ');
    const group = groups.get(key);
    if (group) group.push(member);
    else groups.set(key, [member]);
  }
  return [...groups.values()].map((group) => groupOf(group, false));
}

function groupByLength(members: readonly BatchMember[]): readonly BatchGroup[] {
  const byLength = [...members].sort((left, right) => lengthOf(left) - lengthOf(right));
  const groups: BatchGroup[] = [];
  let from = 0;
  for (let index = 1; index <= byLength.length; index += 1) {
    const shortest = byLength[from] as BatchMember;
    const next = byLength[index];
    if (next && lengthOf(next) <= lengthOf(shortest) * MAX_PADDING_RATIO) continue;
    groups.push(groupOf(byLength.slice(from, index), true));
    from = index;
  }
  return groups;
}

function lengthOf({ tensors }: BatchMember): number {
  return tensors[0]?.bytes.length ?? 0;
}

export function groupOf(members: readonly BatchMember[], collated: boolean): BatchGroup {
  let rows = 0;
  for (let index = 0; index < members.length; index += 1) rows += (members[index] as BatchMember).rows;
  return { members, rows, collated };
}

/** Whether parts can differ in anything but the number of their rows. */
function hasFreeShape({ inputs }: Signature): boolean {
  return inputs.some(({ shape }) => shape.indexOf(-1, 1) > 0);
}
