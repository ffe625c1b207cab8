import { describe, expect, it } from 'vitest';
import { type ModelDocument, sampleRequest } from './sample-request.ts';

const TERMS = { body: undefined, timeoutMs: 500 };

function aModel(parts: Partial<ModelDocument> = {}): ModelDocument {
  const inputs = ['A', 'B'].map((name) => ({ name, datatype: 'INT32', shape: [-1, 6] }));
  return { name: 'sums', task: 'tensor', batching: true, inputs, ...parts };
}

function inputIn(body: Buffer): unknown {
  return JSON.parse(body.toString('utf8')).input;
}

describe('sampleRequest', () => {
  it('makes up one row for each input, with the deadline that the drill wants', () => {
    const { usual } = sampleRequest(aModel(), TERMS);
    expect(usual.path).toBe('/v1/models/sums/predict');
    expect(usual.headers).toEqual({ 'inference-timeout-ms': '500' });
    expect(inputIn(usual.body)).toEqual({ A: [0, 1, 2, 3, 4, 5], B: [0, 1, 2, 3, 4, 5] });
  });

  it('needs no name for the only input', () => {
    const inputs = [{ name: 'x', datatype: 'FP32', shape: [-1, 3] }];
    expect(inputIn(sampleRequest(aModel({ inputs }), TERMS).usual.body)).toEqual([0, 1, 2]);
  });

  it.each([
    ['INT32', '0d000000070000000b00000005000000'],
    ['FP32', '000050410000e040000030410000a040'],
    ['INT64', '0d0000000000000007000000000000000b000000000000000500000000000000'],
  ])('knows how the bytes of a poison of %s begin', (datatype, inputPrefix) => {
    const inputs = [{ name: 'x', datatype, shape: [-1, 6] }];
    const { poison, usual } = sampleRequest(aModel({ inputs }), TERMS);
    expect(poison?.inputPrefix).toBe(inputPrefix);
    expect(inputIn(poison?.request.body ?? usual.body)).toEqual([13, 7, 11, 5, 4, 5]);
  });

  it('has no poison where an input has no room for one', () => {
    const inputs = [{ name: 'x', datatype: 'FP32', shape: [-1, 3] }];
    expect(sampleRequest(aModel({ inputs }), TERMS).poison).toBeUndefined();
  });

  it("takes the user's own request instead", () => {
    const body = Buffer.from('{"input": "a text"}');
    expect(sampleRequest(aModel({ task: 'text-embedding' }), { ...TERMS, body }).usual.body).toBe(body);
  });

  it.each([{ task: 'image-classification' }, { inputs: [] }])('says what to do for %o', (parts) => {
    expect(() => sampleRequest(aModel(parts), TERMS)).toThrow('Cannot make up an input of sums');
  });
});
