import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bytesTensorFault, bytesTensorOf, bytesTensorTexts, walkBytesTensor } from './bytes-tensor.ts';

describe('a BYTES tensor', () => {
  it('gives back the elements that it was made of', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 300 })), (elements) => {
        const bytes = bytesTensorOf(elements);
        const walked: Uint8Array[] = [];
        walkBytesTensor(bytes, (element, index) => {
          expect(index).toBe(walked.length);
          walked.push(element.slice());
        });
        expect(walked).toEqual(elements);
        expect(bytesTensorFault(bytes, elements.length)).toBeUndefined();
        expect(bytesTensorFault(bytes, elements.length + 1)).toMatch(/expected/);
        if (elements.length > 0) expect(bytesTensorFault(bytes, elements.length - 1)).toMatch(/more bytes/);
      }),
    );
  });

  it('is faulty cut off at any byte', () => {
    const bytes = bytesTensorOf([Uint8Array.of(1, 2), new Uint8Array(0), Uint8Array.of(3)]);
    for (let end = 0; end < bytes.length; end += 1)
      expect(bytesTensorFault(bytes.subarray(0, end), 3), `cut at ${end}`).toBeDefined();
  });

  it.each([
    [[255, 255, 255, 255], 1, /expected 4294967295 bytes of element 0, got 0/],
    [[0, 0, 0, 0, 1], 2, /4 bytes of length before element 1, got 1/],
    [[], 1, /expected 1 elements, got 0/],
    [[0], 0, /1 more bytes/],
  ])('%j is no tensor of %i elements', (bytes, count, fault) => {
    expect(bytesTensorFault(Uint8Array.from(bytes), count)).toMatch(fault);
  });

  it('has no fault when it has no elements', () => {
    expect(bytesTensorFault(new Uint8Array(0), 0)).toBeUndefined();
  });

  it('has texts, with what is not UTF-8 replaced', () => {
    const [umlaut, broken] = [Uint8Array.of(0xc3, 0xb6), Uint8Array.of(0xff)];
    expect(bytesTensorTexts(bytesTensorOf([umlaut, broken]))).toEqual(['ö', '\ufffd']);
  });
});
