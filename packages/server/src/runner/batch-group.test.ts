import type { Signature } from '@gimbal/core';
import { expect, test } from 'vitest';
import type { RunPart } from '../transport/run-frame.ts';
import { type BatchMember, groupMembers } from './batch-group.ts';

const FREE: Signature = {
  inputs: [{ name: 'x', datatype: 'UINT8', shape: [-1, -1], axisNames: [null, null] }],
  outputs: [],
  batchAxis: 'dynamic',
};

function member(index: number, shape: readonly number[], encoded = false): BatchMember {
  const tensors = [{ bytes: new Uint8Array(shape.reduce((product, length) => product * length, 1)), shape }];
  return {
    index,
    part: {} as RunPart,
    rows: shape[0] ?? 1,
    tensors,
    prepared: encoded ? { tensors } : undefined,
  };
}

function indices(members: readonly BatchMember[], signature: Signature, collates = false): number[][] {
  return groupMembers(members, signature, collates).map((group) => group.members.map(({ index }) => index));
}

test('Parts share a run when they agree in every axis but the first', () => {
  const members = [member(0, [1, 4]), member(1, [2, 5]), member(2, [3, 4]), member(3, [1, 5])];
  expect(indices(members, FREE)).toEqual([
    [0, 2],
    [1, 3],
  ]);
  expect(groupMembers(members, FREE, false).map(({ rows }) => rows)).toEqual([4, 3]);
});

test('Without a batch axis every part has a run of its own', () => {
  const members = [member(0, [1, 4]), member(1, [1, 4])];
  expect(indices(members, { ...FREE, batchAxis: 'none' })).toEqual([[0], [1]]);
});

test('Items that the task pads share a run when none is more than twice as long as the shortest', () => {
  const members = [10, 100, 20, 21, 150].map((length, index) => member(index, [1, length], true));
  expect(indices(members, FREE, true)).toEqual([[0, 2], [3], [1, 4]]);
});

test('Tensors of a client are not padded with items of the task', () => {
  const members = [member(0, [1, 8], true), member(1, [1, 8]), member(2, [1, 9], true)];
  expect(indices(members, FREE, true)).toEqual([[1], [0, 2]]);
});

test('Nothing to run is no run', () => {
  expect(indices([], FREE)).toEqual([]);
});
