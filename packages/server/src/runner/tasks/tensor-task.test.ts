import { readFileSync } from 'node:fs';
import type { Datatype, TensorOutput } from '@gimbal/core';
import { describe, expect, it } from 'vitest';
import { createTaskAdapter } from './create.ts';
import type { TaskAdapter } from './task.ts';
import { TensorTask } from './tensor-task.ts';
import { aSignature, aTensor, aVersion } from './testing/a-version.ts';
import { readGolden, repositoryPath } from './testing/golden.ts';
import { openSample } from './testing/sample-session.ts';

const PARAMETERS = { topK: 2, threshold: 0 };

function membersOf(answer: Uint8Array): Record<string, unknown> {
  return JSON.parse(`{${Buffer.from(answer).toString()}}`) as Record<string, unknown>;
}

function bytesOf(
  values:
    | Float32Array
    | Float64Array
    | BigInt64Array
    | BigUint64Array
    | Int32Array
    | Uint8Array
    | Uint16Array,
) {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
}

/** The answer of a task whose single output is `output`. */
function answerTo(datatype: Datatype, output: TensorOutput, rows = 1): string {
  const signature = aSignature({
    outputs: [
      aTensor(
        'y',
        datatype,
        output.shape.map(() => -1),
      ),
    ],
  });
  return Buffer.from(new TensorTask(aVersion({ signature })).answer([output], rows, PARAMETERS)).toString();
}

describe('tabular answers of digits', async () => {
  const file = repositoryPath('examples/models/digits/1/model.onnx');
  const session = await openSample(file);
  const labels = readFileSync(repositoryPath('examples/models/digits/1/labels.txt'), 'utf8')
    .trimEnd()
    .split('\n');
  const task: TaskAdapter = await createTaskAdapter(
    aVersion({ task: 'tabular', signature: session.signature, labels }),
    { name: 'fp32', file, qualityRatio: undefined, image: undefined },
  );
  const rows = readGolden().digits;

  function rowBytes(pixels: readonly number[]): Uint8Array {
    return bytesOf(Float32Array.from(pixels));
  }

  it.each(rows.map((row, index) => [index, row] as const))(
    'give the golden label and probabilities of row %i',
    async (_, row) => {
      const outputs = await session.run([{ bytes: rowBytes(row.pixels), shape: [1, 64] }]);
      const members = membersOf(task.answer(outputs, 1, PARAMETERS, undefined));
      const expected = row['digits-mlp/1'];
      const given = members.outputs as { label: number[]; probabilities: number[][] };
      expect(given.label).toEqual([expected.label]);
      for (const [index, probability] of expected.probabilities.entries()) {
        expect(Math.abs((given.probabilities[0]?.[index] ?? 9) - probability)).toBeLessThan(1e-4);
      }
      const predictions = members.predictions as { class_id: number; label: string }[];
      expect(predictions.length).toBe(2);
      expect(predictions[0]).toMatchObject({ class_id: expected.label, label: String(expected.label) });
    },
  );

  it('give each row of a part its own result', async () => {
    const pixels = Buffer.concat(rows.slice(0, 3).map((row) => rowBytes(row.pixels)));
    const outputs = await session.run([{ bytes: new Uint8Array(pixels), shape: [3, 64] }]);
    const { results } = membersOf(task.answer(outputs, 3, PARAMETERS, undefined)) as {
      results: { outputs: { label: number[] } }[];
    };
    expect(results.map((result) => result.outputs.label)).toEqual(
      rows.slice(0, 3).map((row) => [row['digits-mlp/1'].label]),
    );
  });

  it('stay valid while later answers are written', async () => {
    const outputs = await session.run([{ bytes: rowBytes(rows[0]?.pixels ?? []), shape: [1, 64] }]);
    const first = task.answer(outputs, 1, PARAMETERS, undefined);
    const text = Buffer.from(first).toString();
    for (let index = 0; index < 1_000; index += 1) task.answer(outputs, 1, PARAMETERS, undefined);
    expect(Buffer.from(first).toString()).toBe(text);
  });

  it('refuse an image or text, which the task cannot read', () => {
    expect(() => task.prepare(Buffer.from('hello'))).toThrow(
      expect.objectContaining({ code: 'UNSUPPORTED' }),
    );
  });
});

describe('tensor answers', () => {
  it('nest arrays by the shape, with the leading axis of one row', () => {
    const output = { bytes: bytesOf(Float32Array.from([1, 2, 3, 4, 5, 6, 7, 8])), shape: [1, 2, 2, 2] };
    expect(answerTo('FP32', output)).toBe('"outputs":{"y":[[[[1,2],[3,4]],[[5,6],[7,8]]]]}');
  });

  it('keep every digit of 64-bit integers', () => {
    const signed = BigInt64Array.of(9223372036854775807n, -9223372036854775808n, -1n, 0n, 9007199254740993n);
    expect(answerTo('INT64', { bytes: bytesOf(signed), shape: [1, 5] })).toBe(
      '"outputs":{"y":[[9223372036854775807,-9223372036854775808,-1,0,9007199254740993]]}',
    );
    const unsigned = BigUint64Array.of(18446744073709551615n, 1n);
    expect(answerTo('UINT64', { bytes: bytesOf(unsigned), shape: [1, 2] })).toBe(
      '"outputs":{"y":[[18446744073709551615,1]]}',
    );
  });

  it('say true and false, null for what is not finite, doubles in full', () => {
    expect(answerTo('BOOL', { bytes: Uint8Array.of(1, 0), shape: [1, 2] })).toBe(
      '"outputs":{"y":[[true,false]]}',
    );
    const odd = Float32Array.of(Number.NaN, Number.POSITIVE_INFINITY, -0);
    expect(answerTo('FP32', { bytes: bytesOf(odd), shape: [1, 3] })).toBe('"outputs":{"y":[[null,null,-0]]}');
    const doubles = Float64Array.of(0.1, 1e300, Number.NaN);
    expect(answerTo('FP64', { bytes: bytesOf(doubles), shape: [1, 3] })).toBe(
      '"outputs":{"y":[[0.1,1e+300,null]]}',
    );
    expect(
      answerTo('FP16', { bytes: bytesOf(Uint16Array.of(0x3c00, 0xc000, 0x2e66)), shape: [1, 3] }),
    ).toMatch(/^"outputs":\{"y":\[\[1,-2,0\.09997/);
  });

  it('write BYTES as strings that JSON can hold, invalid UTF-8 replaced', () => {
    const elements = ['plain', 'qu"ote\\', 'ü€🚀', '', 'line\nend'].map((text) => Buffer.from(text));
    elements.push(Buffer.from([0x61, 0xff]));
    const framed = Buffer.concat(
      elements.map((element) => Buffer.concat([Buffer.from([element.length, 0, 0, 0]), element])),
    );
    const text = answerTo('BYTES', { bytes: framed, shape: [1, 6] });
    expect(membersOf(Buffer.from(text))).toEqual({
      outputs: { y: [['plain', 'qu"ote\\', 'ü€🚀', '', 'line\nend', 'a\ufffd']] },
    });
  });

  it('write empty axes as empty arrays', () => {
    expect(answerTo('FP32', { bytes: new Uint8Array(0), shape: [1, 0] })).toBe('"outputs":{"y":[[]]}');
    expect(answerTo('INT32', { bytes: new Uint8Array(0), shape: [1, 0, 4] })).toBe('"outputs":{"y":[[]]}');
  });

  it('read outputs wherever they lie in memory', () => {
    const shifted = new Uint8Array(1 + 12);
    shifted.set(bytesOf(Float32Array.of(1.5, 2.5, 3.5)), 1);
    expect(answerTo('FP32', { bytes: shifted.subarray(1), shape: [1, 3] })).toBe(
      '"outputs":{"y":[[1.5,2.5,3.5]]}',
    );
  });

  it('give the whole output of a model without a batch axis', () => {
    const signature = aSignature({ outputs: [aTensor('y', 'INT32', [2, 2])], batchAxis: 'none' });
    const output = { bytes: bytesOf(Int32Array.of(1, 2, 3, 4)), shape: [2, 2] };
    const answer = new TensorTask(aVersion({ signature })).answer([output], 1, PARAMETERS);
    expect(Buffer.from(answer).toString()).toBe('"outputs":{"y":[[1,2],[3,4]]}');
  });

  it('outgrow a slab without losing what was written', () => {
    const values = Float32Array.from({ length: 40_000 }, (_, index) => index / 7);
    const members = membersOf(Buffer.from(answerTo('FP32', { bytes: bytesOf(values), shape: [1, 40_000] })));
    expect((members.outputs as { y: number[][] }).y[0]?.map(Math.fround)).toEqual([...values]);
  });
});
