import { describe, expect, it } from 'vitest';
import { AnswerError } from '../errors.ts';
import { tensor, textsOf } from '../tensor/tensor.ts';
import { readV2Answer } from './v2-answer.ts';
import { v2Request } from './v2-request.ts';

/** An answer with binary outputs after its JSON. */
function anAnswer(document: object, ...binary: readonly number[][]) {
  const json = new TextEncoder().encode(JSON.stringify(document));
  const body = Uint8Array.from([...json, ...binary.flat()]);
  return { headers: new Headers({ 'inference-header-content-length': String(json.length) }), body };
}

const output = (name: string, datatype: string, shape: number[], byteLength: number): object => ({
  name,
  datatype,
  shape,
  parameters: { binary_data_size: byteLength },
});

it('a request is its JSON, counted in bytes, and the tensors in its order', () => {
  const { body, jsonBytes } = v2Request(
    { ä: tensor('INT16', [2], [1, -1]), b: tensor('BYTES', [1], ['xy']) },
    { parameters: { priority: 1 }, outputs: ['o'] },
  );
  expect(JSON.parse(new TextDecoder().decode(body.subarray(0, jsonBytes)))).toEqual({
    parameters: { priority: 1, binary_data_output: true },
    inputs: [
      { name: 'ä', datatype: 'INT16', shape: [2], parameters: { binary_data_size: 4 } },
      { name: 'b', datatype: 'BYTES', shape: [1], parameters: { binary_data_size: 6 } },
    ],
    outputs: [{ name: 'o', parameters: { binary_data: true } }],
  });
  expect([...body.subarray(jsonBytes)]).toEqual([1, 0, 255, 255, 2, 0, 0, 0, 120, 121]);
});

describe('an answer', () => {
  it('has its outputs by name, of every kind, wherever they begin', () => {
    const { headers, body } = anAnswer(
      {
        model_name: 'm',
        model_version: '2',
        outputs: [
          output('bool', 'BOOL', [1], 1),
          output('half', 'FP16', [2], 4),
          output('wide', 'INT64', [1, 1], 8),
          output('text', 'BYTES', [1], 6),
          { name: 'json', datatype: 'UINT32', shape: [2, 1], data: [[7], [4294967295]] },
          output('brain', 'BF16', [1], 2),
        ],
      },
      [1],
      [0x00, 0x3c, 0x66, 0x2e],
      [254, 255, 255, 255, 255, 255, 255, 255],
      [2, 0, 0, 0, 104, 105],
      [0x80, 0x3f],
    );
    const { model, version, outputs } = readV2Answer(headers, body);
    expect({ model, version }).toEqual({ model: 'm', version: '2' });
    expect(outputs.bool?.data).toEqual(Uint8Array.of(1));
    expect(outputs.half?.data).toEqual(Float32Array.of(1, 0.0999755859375));
    expect(outputs.wide).toMatchObject({ shape: [1, 1], data: BigInt64Array.of(-2n) });
    expect(outputs.text?.datatype === 'BYTES' && textsOf(outputs.text)).toEqual(['hi']);
    expect(outputs.json?.data).toEqual(Uint32Array.of(7, 4294967295));
    expect(outputs.brain?.data).toEqual(Float32Array.of(1));
  });

  it('without binary bytes is JSON alone', () => {
    const json = new TextEncoder().encode(JSON.stringify({ outputs: [output('none', 'FP32', [0, 4], 0)] }));
    expect(readV2Answer(new Headers(), json).outputs.none).toMatchObject({ shape: [0, 4] });
  });

  it('names its outputs as it likes', () => {
    const { headers, body } = anAnswer({ outputs: [output('__proto__', 'UINT8', [1], 1)] }, [9]);
    const { outputs } = readV2Answer(headers, body);
    expect(Object.keys(outputs)).toEqual(['__proto__']);
    expect(Object.getPrototypeOf(outputs)).toBe(Object.prototype);
  });

  it.each([
    ['fewer bytes than it says', anAnswer({ outputs: [output('a', 'FP32', [1], 4)] }, [1, 2])],
    ['more bytes than it says', anAnswer({ outputs: [output('a', 'UINT8', [1], 1)] }, [1, 2])],
    ['bytes that are not its shape', anAnswer({ outputs: [output('a', 'FP32', [2], 4)] }, [1, 2, 3, 4])],
    ['a negative length', anAnswer({ outputs: [output('a', 'FP32', [1], -4)] }, [1])],
    ['a broken element of BYTES', anAnswer({ outputs: [output('a', 'BYTES', [1], 5)] }, [9, 0, 0, 0, 1])],
    ['an unknown datatype', anAnswer({ outputs: [output('a', 'FP8', [1], 1)] }, [1])],
    ['no outputs', anAnswer({})],
    [
      'elements that do not fit',
      anAnswer({ outputs: [{ name: 'a', datatype: 'INT8', shape: [1], data: [300] }] }),
    ],
    [
      'a header beyond its end',
      { headers: new Headers({ 'inference-header-content-length': '9' }), body: new Uint8Array(2) },
    ],
  ])('with %s is refused', (_what, { headers, body }) => {
    expect(() => readV2Answer(headers, body)).toThrow(AnswerError);
  });
});
